"""Render notes in worker processes. Arguments and results are JSON."""

import json
from base64 import b64decode, b64encode

from octavo.store.compression import compressed, decompressed

PRELOADED = (__name__, "octavo.render.note")
"""The modules that a worker imports when it starts. The server does not load the renderer."""
MOST_COMPRESSED = 700 * 1024
"""Bytes of a rendered note, compressed: some megabytes of HTML."""


class RenderedTooLarge(ValueError):
    """The HTML of the note is too large."""


def render_stored(text: str) -> str:
    """Render a text; return it as `octavo.features.publishing.renderings` keeps it.

    ``text`` and the result are compressed as the database stores them, and in base64. Raises
    ValueError for a text that can't be rendered.
    """
    from octavo.render.note import render_note  # noqa: PLC0415 - see `PRELOADED`

    rendered = render_note(decompressed(b64decode(text), "to render"))
    data = compressed(json.dumps(rendered.to_json(), ensure_ascii=False))
    if len(data) > MOST_COMPRESSED:
        raise RenderedTooLarge(f"its HTML takes more than {MOST_COMPRESSED:,} bytes, compressed")
    return b64encode(data).decode()
