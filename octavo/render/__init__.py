"""Markdown as it is rendered: its grammar and the limits of it."""

from octavo.render.limits import LIMITS, check_renderable
from octavo.render.parser import parse

__all__ = ["LIMITS", "check_renderable", "parse"]
