"""Why a form was refused, as its page shows it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from octavo_rules.problems import Header, InvalidRequest, Problem

from octavo.model.access.account import PasswordQueueFull

_MINUTE = 60
_FEW = 10
_BUSY = "The server is checking many other passwords at the moment"
_OF_THE_ACCOUNT = frozenset({"not_signed_in", "account_locked", "consent_required"})


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


def wait_of(problem: Problem) -> str:
    """Return when a person may try again, in words such as ``in a minute``."""
    given = dict(problem.headers).get(b"retry-after", b"")
    seconds = int(given) if given.isdigit() else _MINUTE
    if seconds <= _FEW:
        return "in a few seconds"
    if seconds <= _MINUTE - _FEW:
        return f"in {math.ceil(seconds / _FEW) * _FEW} seconds"
    minutes = math.ceil(seconds / _MINUTE)
    return f"in {minutes} minutes" if minutes > 1 else "in a minute"


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
    text = "" if fields else problem.advice or problem.detail
    if problem.status == 429:
        busy = isinstance(problem, PasswordQueueFull)
        reason = _BUSY if busy else "There were too many attempts"
        text = f"{reason}. Try again {wait_of(problem)}."
    return FormErrors(problem.status, text, fields, problem.headers, problem.code)
