"""Forms with long texts and images, which may be larger than any other form."""

import re

from quart import request
from quart_trio.wrappers import TrioRequest

from octavo.images.facts import MAX_BYTES

LARGEST_TEXT = 6 * 1024 * 1024
"""Bytes of the fields of a form: the longest note, whose lines browsers send with CR LF."""
LARGEST_FORM = MAX_BYTES + LARGEST_TEXT
"""Bytes of a form with an image."""

_PATH = re.compile(r"/workspaces/[0-9a-f-]{36}/(?:new|notes/[0-9a-f-]{36}/edit)|/sign-in/again")


class SizedRequest(TrioRequest):
    """A request whose body may be larger on the paths of such forms."""

    def __init__(self, *given: object, **named: object) -> None:
        large = is_large_path(str(given[2]))
        if large:
            named["max_content_length"] = LARGEST_FORM
            # The reader of the form has a deadline for a slow line.
            named["body_timeout"] = None
        super().__init__(*given, **named)  # type: ignore[arg-type]
        if large:
            # The parser of forms has a limit of its own.
            self.max_content_length = LARGEST_FORM


def is_large_path(path: str) -> bool:
    """Return whether a form with a long text can be submitted to ``path``."""
    return _PATH.fullmatch(path) is not None


def is_large() -> bool:
    """Return whether the present request may have a large form."""
    return is_large_path(request.path)
