"""What the server finds: notes by their words, links by their ends."""

from dataclasses import dataclass
from typing import Literal

from octavo.client.answering import Answer
from octavo.model.identity import FileId, RevisionId, WorkspaceId


@dataclass(frozen=True, slots=True)
class Mark(Answer):
    """What was asked for, within a snippet: characters from ``start`` up to ``end``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class HitSnippet(Answer):
    """A piece of a note, as plain text on one line."""

    text: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Hit(Answer):
    """A note that holds what was asked for; ``title`` is its first heading."""

    workspace_id: WorkspaceId
    file_id: FileId
    path: str
    title: str | None
    revision_id: RevisionId
    score: float
    snippets: tuple[HitSnippet, ...]


@dataclass(frozen=True, slots=True)
class Hits(Answer):
    """Notes, the best first.

    Attributes:
        more: whether there are others.
        complete: False when words of notes saved lately were still to be taken in; ask again.
    """

    items: tuple[Hit, ...]
    more: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class LinkInfo(Answer):
    """A link of a note; ``file_id`` is what it leads to, None for nothing."""

    kind: Literal["standard", "wiki"]
    embed: bool
    target: str
    heading: str | None
    file_id: FileId | None
    path: str | None
    heading_found: bool | None


@dataclass(frozen=True, slots=True)
class BackLink(Answer):
    """A link, and the note that it stands in."""

    file_id: FileId
    path: str
    title: str | None
    kind: Literal["standard", "wiki"]
    embed: bool
    target: str
    heading: str | None


@dataclass(frozen=True, slots=True)
class LinksOfFile(Answer):
    """The links of a file; a page of them holds ``outgoing`` when it is the first."""

    outgoing: tuple[LinkInfo, ...]
    incoming: tuple[BackLink, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class LinkPage(Answer):
    """A page of links; ``next`` is None on the last one."""

    items: tuple[BackLink, ...]
    next: str | None
