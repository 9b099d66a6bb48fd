"""The Jinja templates, the style sheet and the icon of the pages. No code."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""The folder of the templates."""

STYLE_SHEET = FOLDER / "octavo.css"
"""The one style sheet of every page."""

ICON = FOLDER / "octavo.svg"
"""The icon of every page, with a background of its own for light and dark tabs."""
