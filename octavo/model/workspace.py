"""Workspaces, their members, and what these may do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from octavo_rules.identity import AccountId, WorkspaceId
from octavo_rules.problems import Forbidden, NotFound, Problem

from octavo.model.access.account import Address, State

Role = Literal["owner", "administrator", "editor", "reader"]
Right = Literal["read", "write", "manage", "own"]
"""``write`` changes files, ``manage`` renames and manages members, ``own`` deletes."""

_RIGHTS: dict[Role, frozenset[Right]] = {
    "reader": frozenset({"read"}),
    "editor": frozenset({"read", "write"}),
    "administrator": frozenset({"read", "write", "manage"}),
    "owner": frozenset({"read", "write", "manage", "own"}),
}
ROLES: tuple[Role, ...] = get_args(Role)
LONGEST_NAME = 200
MAX_OWNED = 1000
"""Workspaces that an account may own when it creates another."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace as seen by a member; ``created_at`` is in milliseconds of Unix time."""

    workspace_id: WorkspaceId
    name: str
    role: Role
    created_at: int


def grants(role: Role, right: Right) -> bool:
    """Return whether a member with ``role`` has ``right``."""
    return right in _RIGHTS[role]


@dataclass(frozen=True, slots=True)
class WorkspaceMember:
    """A member of a workspace; ``joined_at`` is in milliseconds of Unix time."""

    account_id: AccountId
    display_name: str
    address: Address
    role: Role
    joined_at: int


def may_change_role(actor: Role, present: Role | None, wanted: Role | None) -> bool:
    """Return whether a member with the role ``actor`` may change another role.

    It is changed from ``present`` to ``wanted``; None stands for an account that is no member.
    Owners are made, changed and removed by owners only. Whoever leaves needs no right.
    """
    if actor == "owner":
        return True
    return grants(actor, "manage") and "owner" not in (present, wanted)


def counts_as_owner(role: Role, state: State) -> bool:
    """Return whether a member with ``role`` and an account in ``state`` can own a workspace alone.

    A workspace always has such a member: a disabled account can't act for it.
    """
    return role == "owner" and state != "disabled"


class HeirCandidate(NamedTuple):
    """A member that may inherit a workspace; ``joined_at`` is in milliseconds of Unix time."""

    account_id: AccountId
    role: Role
    state: State
    joined_at: int


_HEIRS: tuple[Role, ...] = ("owner", "administrator", "editor")


def heir_among(candidates: Iterable[HeirCandidate]) -> HeirCandidate | None:
    """Return the member who owns a workspace when an owner is removed; None without one.

    Owners come first, then administrators, then editors; of these, the one that has been a member
    for the longest time. Readers don't inherit: nobody has trusted them with the content. Disabled
    accounts inherit nothing; one that is an owner stays the only one if nobody else can act.
    """
    able = (
        candidate
        for candidate in candidates
        if candidate.role == "owner" or (candidate.role in _HEIRS and candidate.state != "disabled")
    )
    return min(
        able,
        key=lambda candidate: (
            candidate.state == "disabled",
            _HEIRS.index(candidate.role),
            candidate.joined_at,
            candidate.account_id,
        ),
        default=None,
    )


class WorkspaceMissing(NotFound):
    """The account does not belong to the workspace, or there is no such workspace."""

    detail = "There is no such workspace."


class MemberMissing(NotFound):
    """The workspace has no such member, or the installation no such account."""

    detail = "There is no such account here."


class TooManyWorkspaces(Forbidden):
    """The account owns the maximum number of workspaces."""

    detail = f"An account owns at most {MAX_OWNED} workspaces: delete one, or hand it over, first."


class AlreadyMember(Problem):
    """The account is a member of the workspace."""

    status, code = 409, "already_member"
    summary = "The account is a member of the workspace."
    remedy = "Change the role of the member instead."
    detail = "The account is a member already: change its role instead."


class RoleInsufficient(Forbidden):
    """The role of the caller does not permit the change."""

    def __init__(self, role: Role) -> None:
        super().__init__(
            f"Your role here is {role}: only owners make, change and remove owners, and only"
            " owners and administrators change other members."
        )


class LastOwner(Problem):
    """The workspace would be left without an owner."""

    status, code = 409, "last_owner"
    summary = "The workspace would be left without an owner."
    remedy = "Make another member an owner first, or delete the workspace."
    advice = "A workspace needs an owner. Make another member an owner first."
    detail = "A workspace needs an owner: make another member an owner first."
