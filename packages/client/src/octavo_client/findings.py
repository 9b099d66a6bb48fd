"""Searches and link queries: the query of a search, and the responses."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from octavo_rules.identity import FileId, RevisionId, WorkspaceId

from octavo_client.changes import present_members
from octavo_client.response_model import ResponseModel


@dataclass(frozen=True, slots=True)
class HitRange(ResponseModel):
    """A hit in a snippet: characters from ``start`` up to ``end``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class HitSnippet(ResponseModel):
    """An excerpt of a note, as plain text on one line."""

    text: str
    marks: tuple[HitRange, ...]


@dataclass(frozen=True, slots=True)
class Hit(ResponseModel):
    """A note that matches the query; ``title`` is its first heading."""

    workspace_id: WorkspaceId
    file_id: FileId
    path: str
    title: str | None
    revision_id: RevisionId
    score: float
    snippets: tuple[HitSnippet, ...]


@dataclass(frozen=True, slots=True)
class Hits(ResponseModel):
    """Matching notes, the best first.

    Attributes:
        more: whether there are others.
        complete: False if recently saved notes are not indexed yet; repeat the search.
    """

    items: tuple[Hit, ...]
    more: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class LinkInfo(ResponseModel):
    """A link of a note; ``file_id`` is its target, None if it does not resolve."""

    kind: Literal["standard", "wiki"]
    embed: bool
    target: str
    heading: str | None
    file_id: FileId | None
    path: str | None
    heading_found: bool | None


@dataclass(frozen=True, slots=True)
class BackLink(ResponseModel):
    """A link, with the note that contains it."""

    file_id: FileId
    path: str
    title: str | None
    kind: Literal["standard", "wiki"]
    embed: bool
    target: str
    heading: str | None


@dataclass(frozen=True, slots=True)
class LinksOfFile(ResponseModel):
    """The links of a file; only the first page has ``outgoing``."""

    outgoing: tuple[LinkInfo, ...]
    incoming: tuple[BackLink, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class LinkPage(ResponseModel):
    """A page of links; ``next`` is None on the last one."""

    items: tuple[BackLink, ...]
    next: str | None


def search_query(
    query: str,
    folder: str,
    limit: int,
    changed_since: datetime | None,
    changed_before: datetime | None,
    author: str | None,
) -> dict[str, Any]:
    """Return the query members of a search; see `WorkspaceReader.search`."""
    return present_members(
        q=query,
        path=folder or None,
        limit=limit,
        changedSince=None if changed_since is None else changed_since.isoformat(),
        changedBefore=None if changed_before is None else changed_before.isoformat(),
        author=author,
    )
