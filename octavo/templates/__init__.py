"""The templates that all pages are made of, the style sheet and the icon.

A feature has templates of its own in its folder ``templates``. Their names begin with that of the
feature: ``accounts/keys.html`` is ``octavo/features/accounts/templates/keys.html``.
"""

from collections.abc import Iterable
from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, PrefixLoader

FOLDER = Path(__file__).parent
"""The folder of the templates."""

STYLE_SHEET = FOLDER / "octavo.css"
"""The one style sheet of every page."""

ICON = FOLDER / "octavo.svg"
"""The icon of every page, with a background of its own for light and dark tabs."""


def folder_of(feature: str) -> Path:
    """Return the folder of the templates of a feature, which may not exist."""
    return FOLDER.parent / "features" / feature / "templates"


def loader_of(features: Iterable[str]) -> BaseLoader:
    """Return what loads the templates here and those of some features."""
    of_features = {feature: FileSystemLoader(folder_of(feature)) for feature in features}
    return ChoiceLoader([FileSystemLoader(FOLDER), PrefixLoader(of_features)])
