"""Why a form was refused, as its page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from octavo_rules.problems import Header, InvalidRequest, Problem

from octavo.features.publishing.api.reader_problems import wait_of
from octavo.model.access.refusal import PasswordQueueFull

_BUSY = "The server is checking many other passwords at the moment"
_OF_THE_ACCOUNT = frozenset({"not_signed_in", "account_locked", "consent_required"})

# Where the detail of the API is written for developers, or would miss what a person can do here.
_TEXTS: Mapping[str, str] = {
    "controls_changed": "Somebody else changed these settings meanwhile. They are shown as they "
    "are now: check them, and save again.",
    "address_taken": "There is an account with this address already. Sign in with it instead.",
    "too_many_invitations": "There are too many open invitations. Revoke some first.",
    "file_purged": "This was erased for good.",
    "too_many_keys": "You have the maximum number of keys. Revoke one first.",
    "last_owner": "A workspace needs an owner. Make another member an owner first.",
    "last_administrator": "This is the last enabled administrator. Make another account an "
    "administrator first.",
}


@dataclass(frozen=True, slots=True)
class FormErrors:
    """Why a form was refused.

    Attributes:
        status: of the page.
        text: for the whole form; empty when the fields say it.
        fields: the errors, by the names of fields.
        headers: of the page, such as ``retry-after``.
        code: the code of the problem, for the log and the audit.
    """

    status: int
    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    headers: tuple[Header, ...] = ()
    code: str = InvalidRequest.code


def text_of(problem: Problem) -> str:
    """Return what a page says of ``problem`` as a whole."""
    return _TEXTS.get(problem.code, problem.detail)


def form_errors_of(problem: Problem, names: Mapping[str, str] | None = None) -> FormErrors:
    """Return what the page of a form says of ``problem``.

    ``names`` maps a member of the request to the field of the form when their names differ. Raises
    ``problem`` if it is not of the form: nobody is signed in, or the account is locked.
    """
    if problem.code in _OF_THE_ACCOUNT:
        try:
            raise problem
        finally:
            del problem
    fields: dict[str, str] = {}
    if isinstance(problem, InvalidRequest):
        errors = problem.members.get("errors")
        for each in errors if isinstance(errors, list) else []:
            member = str(each["pointer"]).rpartition("/")[2]
            fields.setdefault((names or {}).get(member, member), str(each["message"]))
    text = "" if fields else text_of(problem)
    if problem.status == 429:
        busy = isinstance(problem, PasswordQueueFull)
        reason = _BUSY if busy else "There were too many attempts"
        text = f"{reason}. Try again {wait_of(problem)}."
    return FormErrors(problem.status, text, fields, problem.headers, problem.code)
