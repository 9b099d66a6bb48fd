"""The Markdown grammar of notes, its limits, and its HTML."""

from octavo.render.limits import LIMITS, check_renderable
from octavo.render.parser import parse

__all__ = ["LIMITS", "check_renderable", "parse"]
