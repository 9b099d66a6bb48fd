"""The fields of the form of a note, as the form sends them."""

from collections.abc import Callable, Mapping
from urllib.parse import quote
from uuid import UUID

from octavo.features.notes.pages.frame import plain
from octavo.http.pages.page_registry import Visitor
from octavo.model.files.naming import name_from_text, written_path
from octavo.model.files.path import NOTE_SUFFIX

_UNNAMED = "Note"
_INBOX = "Inbox"
MIXED = "mixed"
"""The line ends of a text that has several."""


def fields_of(visitor: Visitor, new_id: Callable[[], str]) -> dict[str, str]:
    """Return the fields of the form; what is no identifier is replaced by a new one."""
    given = visitor.given
    return {
        "path": given.get("path", ""),
        "path-before": given.get("path-before", ""),
        "text": with_line_ends(plain(visitor, "text"), given.get("lines", "")),
        "lines": given.get("lines", ""),
        "head": _identifier(given.get("head", "")) or new_id(),
        "mutation": _identifier(given.get("mutation", "")) or new_id(),
        "action": given.get("action", "save"),
    }


def path_of_new(given: Mapping[str, str]) -> tuple[str, bool]:
    """Return the path of a new note, and whether the form names it: otherwise its text does."""
    path = given["path"].strip()
    if path and not path.endswith("/"):
        return written_path(path), True
    folder = path.strip("/") or ("" if path else _INBOX)
    name = name_from_text(given["text"]) or _UNNAMED
    return f"{folder}/{name}{NOTE_SUFFIX}".lstrip("/"), False


def path_after(given: str, before: str) -> str:
    """Return the path that a form gives a note; one that nobody touched stays as it is."""
    return before if given == before else written_path(given)


def relative_link(path: str, target: str) -> str:
    """Return the address of a file for a link in the note at ``path``."""
    return "../" * path.count("/") + quote(target)


def line_end_of(text: str) -> str:
    """Return ``crlf`` for a text whose lines all end so, nothing for LF, and otherwise `MIXED`."""
    if "\r" not in text:
        return ""
    rest = text.replace("\r\n", "")
    return MIXED if "\n" in rest or "\r" in rest else "crlf"


def with_line_ends(text: str, lines: str) -> str:
    """Return a text, whose lines end with LF, with the line ends that its note has."""
    return text.replace("\n", "\r\n") if lines == "crlf" else text


def _identifier(text: str) -> str | None:
    try:
        return text if str(UUID(text)) == text else None
    except ValueError:
        return None
