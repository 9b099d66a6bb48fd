"""The Markdown grammar of notes and its limits."""

from octavo.render.limits import LIMITS, check_renderable
from octavo.render.parser import parse

__all__ = ["LIMITS", "check_renderable", "parse"]
