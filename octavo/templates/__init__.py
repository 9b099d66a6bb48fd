"""What pages look like: Jinja templates and the one style sheet. Nothing here runs."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""The folder of the templates."""

STYLE_SHEET = FOLDER / "octavo.css"
"""The one style sheet of every page."""
