"""A QR code as a picture within a page."""

import segno
from markupsafe import Markup

# Lighter modules around the code, by which readers find it (ISO/IEC 18004).
_QUIET = 4
_WIDTH = 232
_SMALLEST_MODULE = 2


def qr_code(text: str, title: str) -> Markup:
    """Return the SVG of a QR code for ``text``, dark on light in every appearance.

    It has no style attribute, which the content security policy of pages forbids, and each module
    is a whole number of pixels. ``title`` describes it. Raises `ValueError` if the text is too
    long.
    """
    code = segno.make(text, error="m", micro=False)
    modules = code.symbol_size(border=_QUIET)[0]
    width = modules * max(_WIDTH // modules, _SMALLEST_MODULE)
    svg = code.svg_inline(
        border=_QUIET,
        dark="#000",
        light="#fff",
        title=title,
        svgclass=None,
        lineclass=None,
        omitsize=True,
    )
    attributes = f'role="img" width="{width}" height="{width}" shape-rendering="crispEdges"'
    # segno escapes the title; the rest are numbers and colours.
    return Markup(svg.replace("<svg ", f"<svg {attributes} ", 1))
