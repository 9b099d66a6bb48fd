"""Messages after a change: what happened, shown once by the next page.

A cookie names the message, by a code of this module: no other text can be shown with it. It is only
set by a response to a form.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from octavo_rules.problems import Header

from octavo.http.session_cookie import cookie_values

_NAME = "__Host-octavo-message"
_ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax"
_SECONDS = 60

MESSAGES: Mapping[str, str] = {
    "signed-out": "You are signed out.",
    "not-saved": "You are not signed in any more, so nothing was changed. Sign in, and fill in the "
    "form again.",
    "registered": "Welcome. Your account is ready.",
    "name-changed": "Your name is changed.",
    "preferences-changed": "Your preferences are changed.",
    "password-changed": "Your password is changed.",
    "password-reset": "Your password is changed. Sign in with the new one.",
    "session-ended": "That browser is signed out.",
    "sessions-ended": "Every other browser is signed out.",
    "key-revoked": "The key is revoked. Programs that use it are refused from now on.",
    "connection-revoked": "The program has no access any more.",
    "consent-recorded": "Thank you. Your agreement is recorded.",
    "account-removed": "Your account is removed.",
    "workspace-created": "The workspace is created.",
    "workspace-renamed": "The workspace is renamed.",
    "workspace-deleted": "The workspace is deleted.",
    "workspace-joined": "You are a member of this workspace now.",
    "workspace-left": "You have left the workspace.",
    "member-changed": "The role is saved.",
    "member-removed": "The member is removed.",
    "invitation-revoked": "The invitation is revoked. Its link opens nothing any more.",
    "link-revoked": "The link is revoked. It opens nothing any more.",
    "changes-undone": "The changes of the program are undone.",
    "note-created": "The note is created.",
    "note-saved": "Saved.",
    "note-unchanged": "There was nothing to save.",
    "note-changed-meanwhile": "You changed nothing. The note was saved meanwhile: this is its "
    "current text.",
    "copy-saved": "Your text is saved as a note of its own.",
    "theirs-kept": "The saved text is kept, and yours is dropped.",
    "note-moved": "The note is moved.",
    "note-changed": "The note changed meanwhile, so it was not deleted. This is its current text.",
    "note-deleted": "The note is deleted. It is among the deleted notes and images, and can be "
    "restored.",
    "note-restored": "The note is restored.",
    "text-restored": "The earlier text is restored, as a new revision.",
    "note-erased": "The note is erased for good.",
    "image-added": "The image is added. A note shows it when it links to it.",
    "image-moved": "The image is moved.",
    "image-unchanged": "There was nothing to save.",
    "image-changed": "The image changed meanwhile, so it was not deleted. This is how it is now.",
    "image-deleted": "The image is deleted. It is among the deleted notes and images, and can be "
    "restored.",
    "image-restored": "The image is restored.",
    "image-erased": "The image is erased for good.",
    "import-discarded": "The archive is discarded.",
    "example-created": "Here is the example. This note says where to begin.",
    "example-present": "The example is here already, or notes with the same names.",
    "report-dismissed": "The report is dismissed. The link stays as it is.",
    "report-closed": "This report was closed already, so nothing was changed.",
    "link-taken-down": "The link is taken down, and every report of it is closed.",
    "account-changed": "The account is saved.",
    "other-account-removed": "The account is removed.",
    "installation-changed": "The installation is changed.",
}
"""The texts by their codes."""

REFUSALS = frozenset({"not-saved", "note-changed", "image-changed", "report-closed"})
"""The codes of messages that say why nothing was changed."""


class PageMessage(NamedTuple):
    """What a page shows of a message."""

    text: str
    refused: bool


def message_cookie(code: str) -> Header:
    """Return the header that has the next page show the message ``code``."""
    if code not in MESSAGES:
        raise KeyError(code)
    return _set_cookie(code, _SECONDS)


def cleared_message() -> Header:
    """Return the header that ends the message."""
    return _set_cookie("", 0)


def message_of(headers: Sequence[Header]) -> PageMessage | None:
    """Return the message that the cookie in ``headers`` names; ``None`` without one."""
    code = next(cookie_values(headers, _NAME.encode()), b"").decode("latin-1")
    return PageMessage(MESSAGES[code], code in REFUSALS) if code in MESSAGES else None


def has_message(headers: Sequence[Header]) -> bool:
    """Return whether ``headers`` contain the cookie, with any value."""
    return any(True for _ in cookie_values(headers, _NAME.encode()))


def _set_cookie(value: str, seconds: int) -> Header:
    return (b"set-cookie", f"{_NAME}={value}; {_ATTRIBUTES}; Max-Age={seconds}".encode())
