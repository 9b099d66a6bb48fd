"""Revisions: the immutable states of a file, the newest of which is its head; and their feed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeVar

from octavo_rules import identity

from octavo.model.files.path import Kind

State = Literal["live", "deleted", "purged"]
Origin = Literal["device", "page", "key", "import", "mcp", "restore"]
"""The source of a revision: a signed-in device, the pages in a browser, a personal API key, an
import, the MCP endpoint, or the restoration of an earlier revision."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The immutable state of a file after one changeset.

    Every accepted change of a file creates one, including its deletion and its purge. A deleted
    file keeps path and content for a restore; a purged one keeps its id only: path and digest
    are empty, the size is 0.

    Attributes:
        content_id: the id of the revision that introduced the content.
        size: the size of the content, in bytes.
        created_at: Unix time in milliseconds.
        program: the program that made it by the MCP endpoint; None for any other origin.
    """

    file_id: identity.FileId
    state: State
    kind: Kind
    path: str
    revision_id: identity.RevisionId
    position: identity.Position
    content_id: identity.ContentId
    digest: identity.Digest
    size: int
    media_type: str
    author: identity.AccountId
    mutation_id: identity.MutationId
    created_at: int
    origin: Origin = "device"
    program: identity.ProgramNumber | None = None


K = TypeVar("K")


def page_end(sizes: Sequence[tuple[K, int]], limit: int, max_bytes: int) -> K | None:
    """Return the last position (or other key) of a page, or None if all entries fit.

    ``sizes`` has the position and size in bytes of each entry, in order, and ``limit`` + 1
    entries if there are as many. A page has at most ``limit`` entries and ``max_bytes`` bytes;
    but the entries of one position are never split, and a page has at least one position.
    """
    count = total = 0
    end: K | None = None
    for position, entries in groupby(sizes, key=itemgetter(0)):
        for _, size in entries:
            count += 1
            total += size
        if end is not None and (count > limit or total > max_bytes):
            return end
        end = position
    return end if len(sizes) > limit else None
