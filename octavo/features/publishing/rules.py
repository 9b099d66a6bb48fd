"""Published links: what they open, and when."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple, NewType

from octavo_rules.identity import AccountId, FileId, WorkspaceId
from octavo_rules.problems import Forbidden, NotFound, Problem

from octavo.features.accounts.rules.password import LONGEST, hashed_form
from octavo.model.access.account import State

ReportId = NewType("ReportId", str)

Reason = Literal["spam", "abuse", "copyright", "personal_data", "malware", "illegal", "other"]

REASONS: Mapping[Reason, str] = MappingProxyType(
    {
        "spam": "Spam or a scam",
        "abuse": "Abuse or harassment",
        "copyright": "A copyright violation",
        "personal_data": "Someone's personal data",
        "malware": "Malware, or a link to it",
        "illegal": "Something else that is illegal",
        "other": "Another reason",
    }
)
"""Why a link can be reported, in words for readers."""

LONGEST_NOTE = 2_000
"""Characters of the note of a report."""


def moved_folder(
    folder: str, moves: Iterable[tuple[str, str]], remaining: Iterable[str]
) -> str | None:
    """Return where a changeset has moved a folder; None if it has not.

    A folder moved when one changeset takes every live file below it to one new folder. The link
    follows only if `holds_only_moved` is true of that folder, too.

    Args:
        folder: its path before.
        moves: the paths before and after of the files that the changeset moves.
        remaining: the paths of the other files that were live below the folder before, deleted by
            the changeset or not.
    """
    if not folder or any(is_below(path, folder) for path in remaining):
        return None
    target: str | None = None
    for old, new in moves:
        if not is_below(old, folder):
            continue
        prefix = new.removesuffix(old[len(folder) :])
        if prefix in ("", new, folder) or (target is not None and prefix != target):
            return None
        target = prefix
    return target


def holds_only_moved(arrived: Iterable[str], folder: str, moves: Iterable[tuple[str, str]]) -> bool:
    """Return whether a new folder holds nothing but the files of ``folder``.

    Files that are merged into a folder with others are not followed there: nobody has decided to
    publish those.

    Args:
        arrived: the paths of all live files below the new folder, after the changeset.
        folder: its path before.
        moves: as for `moved_folder`.
    """
    moved = {new for old, new in moves if is_below(old, folder)}
    return all(path in moved for path in arrived)


PublicationId = NewType("PublicationId", str)
TargetKind = Literal["note", "folder"]
LinkState = Literal["live", "expired", "revoked", "taken_down"]
Obstacle = Literal["no_note", "creator"]
"""Why a live link opens nothing: there is no note, or its creator may not publish."""

TOKEN_BYTES = 24
"""Random bytes of the token of a link: 192 bits."""
SHORTEST_PASSWORD = 8
"""Characters of a password of a link, in its normalized form."""
LONGEST_LABEL = 200
"""Characters of a label."""
MAX_OPENINGS = 1_000_000
"""The largest number of openings that a link can be limited to."""


class TooManyLinks(Problem):
    """The workspace has as many live links as it may have."""

    status, code = 422, "too_many_links"
    summary = "The workspace has as many live links as it may have."
    remedy = (
        "Revoke a link that is no longer needed. The operator of the installation can allow more."
    )

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"The workspace has as many live links as it may have, {maximum:,}: revoke one first."
        )


class PublishingRefused(Forbidden):
    """The operator does not allow the account to publish."""

    detail = "The operator of the installation does not let you publish links."


class PublishedTargetMissing(NotFound):
    """There is no such note, or no note in such a folder."""


class LinkMissing(NotFound):
    """There is no such link in the workspace."""

    detail = "There is no such link in this workspace."


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """What a link opens.

    Attributes:
        kind: one note, or a folder with everything below it.
        file_id: the note; None for a folder.
        path: of the folder, empty for the whole workspace; or that of the note when it was read.
    """

    kind: TargetKind
    file_id: FileId | None
    path: str


@dataclass(frozen=True, slots=True)
class PublishedLink:
    """A link as stored, without its token; times are in milliseconds of Unix time.

    Attributes:
        label: shown to readers; None for none.
        password: the encoded hash of its password; None for none.
        openings: how often it can be opened; None for any number.
        opened: how often it was.
        created_by: None if the account was removed.
    """

    publication_id: PublicationId
    workspace_id: WorkspaceId
    target: LinkTarget
    label: str | None = None
    password: str | None = None
    openings: int | None = None
    opened: int = 0
    created_at: int = 0
    expires_at: int | None = None
    revoked_at: int | None = None
    taken_down_at: int | None = None
    created_by: AccountId | None = None

    @property
    def needs_ticket(self) -> bool:
        """Whether a reader has to open the link before reading: by a password, or counted."""
        return self.password is not None or self.openings is not None

    @property
    def used_up(self) -> bool:
        """Whether it was opened as often as it can be."""
        return self.openings is not None and self.opened >= self.openings

    def state_at(self, now: int) -> LinkState:
        """Return the state at ``now``; a takedown takes precedence."""
        if self.taken_down_at is not None:
            return "taken_down"
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and now >= self.expires_at:
            return "expired"
        return "live"

    def moved_to(self, path: str) -> "PublishedLink":
        """Return the link with another path of its target."""
        return replace(self, target=replace(self.target, path=path))


class ListedLink(NamedTuple):
    """A link as those who manage it see it; ``obstacle`` is None if it opens what it should."""

    link: PublishedLink
    obstacle: Obstacle | None


def is_below(path: str, folder: str) -> bool:
    """Return whether a file is below a folder; every file is below the empty one."""
    return not folder or path.startswith(f"{folder}/")


def password_fault(password: str) -> str | None:
    """Return what is wrong with a new password of a link, for people; None for a valid one."""
    form = hashed_form(password)
    if form is None:
        return f"A password has at most {LONGEST} characters."
    if len(form) < SHORTEST_PASSWORD:
        return f"A password of a link has at least {SHORTEST_PASSWORD} characters."
    return None


def lets_read(state: State, *, publishing: bool) -> bool:
    """Return whether the links of an account open anything.

    The links of a locked account do: it can't change anything, and what it published stays.

    Args:
        state: of the account.
        publishing: whether the operator lets it publish.
    """
    return publishing and state != "disabled"


class ReportMissing(NotFound):
    """There is no such report, or it was closed."""

    detail = "There is no open report with this id."


@dataclass(frozen=True, slots=True)
class LinkReport:
    """An open report of a link.

    Attributes:
        report_id: identifies it.
        publication_id: the link.
        workspace_id: the workspace of the link.
        reason: a key of `REASONS`.
        note: what the reader wrote; None for nothing.
        reported_at: in milliseconds of Unix time.
    """

    report_id: ReportId
    publication_id: PublicationId
    workspace_id: WorkspaceId
    reason: Reason
    note: str | None
    reported_at: int
