"""What pages look like: Jinja templates, the one style sheet, and the icon. Nothing here runs."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""The folder of the templates."""

STYLE_SHEET = FOLDER / "octavo.css"
"""The one style sheet of every page."""

ICON = FOLDER / "octavo.svg"
"""The icon of every page: one colour on a ground of its own, for light and dark tabs alike."""
