"""The audit: who did what to accounts, credentials, invitations and members, and when.

An entry contains identifiers and codes only: no secret, address, name or text of a person.
`AuditEntry` enforces the form of both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NewType, get_args

from octavo_rules.identity import AccountId

AuditId = NewType("AuditId", str)

AuditKind = Literal[
    "account_changed",
    "account_registered",
    "account_removed",
    "attempt_refused",
    "command",
    "controls_changed",
    "documents_accepted",
    "grant_created",
    "grant_revoked",
    "installation_changed",
    "invitation_accepted",
    "invitation_created",
    "invitation_revoked",
    "key_created",
    "key_revoked",
    "link_created",
    "link_revoked",
    "link_taken_down",
    "member_changed",
    "member_removed",
    "password_changed",
    "report_dismissed",
    "session_ended",
    "sessions_ended",
    "sign_in",
    "sign_out",
]
"""What happened, in alphabetical order. ``attempt_refused`` counts equal refusals of a period;
``command`` is a command on the server that changed no account."""

KINDS: tuple[AuditKind, ...] = get_args(AuditKind)

Service = Literal["operator", "system"]
"""``system`` is the server itself, or a command on its machine."""

SERVICES: tuple[Service, ...] = get_args(Service)

Actor = AccountId | Service
"""An account, or who acts without one."""

AuditOutcome = Literal["done", "refused"]

Detail = Mapping[str, str | int | bool | None]
"""Identifiers, codes, numbers and booleans by their names in camelCase."""

LONGEST_CODE = 64
"""Characters of a text in the details."""

_NAME = re.compile(r"[a-z][A-Za-z]{0,31}")
_CODE = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_CODE}}}")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the audit.

    Raises ValueError for a detail that is neither an identifier, a code, a number nor a boolean.

    Attributes:
        entry_id: a UUID of version 7, so that identifiers sort by time.
        at: the time in milliseconds of Unix time.
        kind: what happened.
        actor: who did it; None if that is unknown, as in a refused sign-in.
        subject: the identifier of what it was done to: an account, session, key, invitation, link
            or report.
        client: the network of the client address; None if there is none, or it was erased.
        outcome: whether it was done.
        detail: what else is known.
    """

    entry_id: AuditId
    at: int
    kind: AuditKind
    actor: Actor | None = None
    subject: str | None = None
    client: str | None = None
    outcome: AuditOutcome = "done"
    detail: Detail = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.detail.items():
            if _NAME.fullmatch(name) is None:
                raise ValueError(f"{name!r} is not the name of a detail")
            if isinstance(value, str) and _CODE.fullmatch(value) is None:
                raise ValueError(f"the detail {name} is neither an identifier nor a code")


def account_of(actor: Actor | None) -> AccountId | None:
    """Return the account that ``actor`` is; None for a service."""
    return None if actor is None or actor in SERVICES else AccountId(actor)


def service_of(actor: Actor | None) -> Service | None:
    """Return the service that ``actor`` is; None for an account."""
    return next((service for service in SERVICES if service == actor), None)
