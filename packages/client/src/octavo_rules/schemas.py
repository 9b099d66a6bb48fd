"""The responses of the API, as the service writes them and its clients read them.

The document of the API has these classes under their names, with their docstrings and those of
their members. They refuse unknown members; a client passes ``extra="ignore"`` when it validates, so
that newer servers may add some. Members are in camelCase in JSON. Their base is in
`octavo_rules.schema_base`. No other rule needs pydantic.
"""

from base64 import b64decode, b64encode
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue, PlainSerializer, WithJsonSchema

from octavo_rules import identity
from octavo_rules.schema_base import UUID_FIELD, Cursor, Identifier, ListPage, Schema, Timestamp

AccountId = Annotated[identity.AccountId, UUID_FIELD]
Epoch = Annotated[identity.Epoch, UUID_FIELD]
FileId = Annotated[identity.FileId, UUID_FIELD]
MutationId = Annotated[identity.MutationId, UUID_FIELD]
RevisionId = Annotated[identity.RevisionId, UUID_FIELD]
WorkspaceId = Annotated[identity.WorkspaceId, UUID_FIELD]


def _decoded(value: object) -> object:
    # The bytes type of pydantic ignores characters outside the base64 alphabet.
    return b64decode(value, validate=True) if isinstance(value, str) else value


def _encoded(value: bytes | str) -> str:
    # The service encodes long values beforehand.
    return value if isinstance(value, str) else b64encode(value).decode()


Base64 = Annotated[
    bytes,
    BeforeValidator(_decoded),
    PlainSerializer(_encoded, when_used="json"),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""Bytes, represented in JSON as standard base64 (RFC 4648 section 4)."""

Kind = Literal["note", "attachment"]
State = Literal["live", "deleted", "purged"]


class Workspace(Schema):
    """A workspace as the account sees it."""

    id: WorkspaceId
    name: str
    role: Literal["owner", "administrator", "editor", "reader"]
    """The role of the account in it."""
    created_at: Timestamp


class WorkspaceList(ListPage[Workspace]):
    """A page of workspaces, oldest first."""


class ApiKey(Schema):
    """A key, without its secret."""

    id: Identifier
    name: str
    created_at: Timestamp
    expires_at: Timestamp | None
    """Null for never."""
    last_used_at: Timestamp | None
    """To the minute; null if it was never used."""
    scopes: tuple[identity.Scope, ...] | None
    """What it may do; null for full access."""
    workspace_ids: tuple[WorkspaceId, ...] | None
    """The workspaces that exist for it; null for all."""
    folder: str | None
    """The folder that it is limited to; null for all files."""


class ApiKeyCreated(ApiKey):
    """A new key."""

    secret: str = Field(repr=False)
    """The secret that programs send as ``authorization: Bearer …``. It cannot be read again."""


class RevisionDocument(Schema):
    """A revision of a file; it never changes."""

    id: RevisionId
    file_id: FileId
    position: identity.Position
    """The position of its changeset in the workspace."""
    kind: Kind
    """A Markdown note, or an image."""
    path: str | None
    """Null for a purged file."""
    digest: str | None
    """SHA-256 of the content, in hexadecimal; null for a purged file."""
    size: int
    """Size of the content in bytes."""
    media_type: str | None
    author: AccountId
    """Id of the account that made it."""
    created_at: Timestamp
    mutation_id: MutationId
    # Newer servers may know others.
    origin: Annotated[
        str,
        WithJsonSchema(
            {"type": "string", "enum": ["device", "page", "key", "import", "mcp", "restore"]}
        ),
    ]
    """How it was made: on a signed-in device, on a page, with a personal API key, or otherwise."""


class RevisionClient(Schema):
    """A program that made a revision by the MCP endpoint."""

    id: str
    """Its client id: undoClientChanges undoes what it did."""
    name: str
    """How it called itself then; nobody has verified it."""


class ListedRevision(RevisionDocument):
    """A revision, and who made it."""

    author_name: str | None
    """The present display name of the author; null for a removed account."""
    client: RevisionClient | None
    """The program that made it for the author; null for any other origin than ``mcp``."""


class RevisionList(ListPage[ListedRevision]):
    """A page of revisions, newest first."""


class FileChange(Schema):
    """The result for one file."""

    file_id: FileId
    outcome: Literal["created", "updated", "merged", "unchanged", "deleted", "restored", "purged"]
    revision: RevisionDocument
    """The accepted head, without its text."""
    position: identity.Position
    path: str | None


class ChangesetResult(Schema):
    """The result of a changeset."""

    mutation_id: MutationId
    position: identity.Position
    """Its position in the workspace; if it changed nothing, the position of the previous one."""
    mark: RevisionId
    """The mark of ``position``: see ``getFeed``."""
    changes: tuple[FileChange, ...]


class NoteDocument(Schema):
    """The document of a note: a Yjs document with a single text named ``text``."""

    epoch: Epoch
    """Its epoch. Updates of one epoch cannot be applied to another."""
    state: Base64
    """A Yjs update (version 1) that contains the whole document."""
    state_vector: Base64
    """The Yjs state vector of the document."""


class NoteSave(FileChange):
    """The result of a save, and what the device lacks."""

    outcome: Literal["merged", "unchanged"]
    """``unchanged``: the document already contained the update."""
    epoch: Epoch
    """The current epoch of the document. If it differs from that of the save, the document was
    recreated and includes the edits of the save: load ``update`` into a new document.
    """
    update: Base64
    """A Yjs update with everything that the given state vector lacks; the whole document if the
    epoch differs or no state vector was given.
    """
    state_vector: Base64
    """The server's state vector: encode the next update against it."""


class WorkspaceFile(Schema):
    """A file at its head, or at one of its revisions."""

    id: FileId
    workspace_id: WorkspaceId
    path: str | None
    kind: Kind
    """A Markdown note, or an image."""
    state: State
    head: RevisionDocument
    text: str | None
    """The Markdown; null for a file without text, such as a purged one."""
    document: NoteDocument | None = None
    """Null for a file without text, in lists, and when only the text is requested."""


class ReadFiles(Schema):
    """The files and revisions found."""

    items: tuple[WorkspaceFile, ...]
    """In the order of the request, files before revisions."""
    missing: tuple[Identifier, ...]
    """Ids of deleted, purged or unknown files, and of unknown revisions."""


class ListedFile(Schema):
    """A file without its text."""

    id: FileId
    workspace_id: WorkspaceId
    path: str
    kind: Kind
    """A Markdown note, or an image."""
    state: Literal["live", "deleted"]
    head: RevisionDocument


class FileList(ListPage[ListedFile]):
    """A page of files, in the requested order."""


def _without_default(schema: dict[str, JsonValue]) -> None:
    del schema["default"]


class FeedEntry(Schema):
    """The state of a file at the position of its last change."""

    position: identity.Position
    file_id: FileId
    path: str | None
    kind: Kind
    """A Markdown note, or an image."""
    state: State
    revision_id: RevisionId
    digest: str | None
    size: int
    mutation_id: MutationId
    changed_at: Timestamp
    text: str | None = Field(None, json_schema_extra=_without_default)
    """The Markdown of a live note, if requested."""


class FeedPage(Schema):
    """Changed files, each once, at the position of its last change."""

    entries: tuple[FeedEntry, ...]
    next: identity.Position
    """The ``after`` of the next page, now or later."""
    next_mark: RevisionId
    """The ``sync-mark`` of the next page."""
    position: identity.Position
    """The position of the workspace."""
    mark: RevisionId
    """The mark of ``position``: the id of a revision that its changeset made."""
    more: bool
    """Whether there is a next page already."""


class SnapshotEnd(Schema):
    """The last line of a snapshot: without it, the snapshot is truncated."""

    position: identity.Position
    """The position of all files; continue with the feed after it."""
    mark: RevisionId
    """The mark of ``position``: the ``sync-mark`` of the feed after it."""
    files: int
    """Number of preceding lines."""


class DiffLine(Schema):
    """A line, including its line feed if it has one."""

    kind: Literal["context", "added", "removed"]
    text: str


class DiffHunk(Schema):
    """Changed lines with their context."""

    old_start: int
    """The number of its first line in the old text, from 1; if it has none, of the line before."""
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[DiffLine, ...]


class DiffPiece(Schema):
    """A piece of text that is in both texts, or in one of them."""

    kind: Literal["equal", "added", "removed"]
    text: str


class RevisionDiff(Schema):
    """The changes from one revision to the other."""

    old: RevisionDocument | None
    """Null when ``new`` is the first revision: everything was added."""
    new: RevisionDocument
    unified: str | None
    """By lines: a unified diff for the program patch; empty for equal texts, null if it is cut."""
    hunks: tuple[DiffHunk, ...] | None
    """By lines: the same, structured."""
    words: tuple[DiffPiece, ...] | None
    """By words: the equal and added pieces form the new text, the equal and removed ones the old.
    """
    cut: bool
    """Whether there are more lines or pieces than ``limit``."""


class Mark(Schema):
    """A match in a text: from ``start`` up to, but excluding, ``end``."""

    start: int
    """In characters (code points) from 0."""
    end: int


class SnippetDocument(Schema):
    """An excerpt of the note as plain text on one line."""

    text: str
    marks: tuple[Mark, ...]
    """The matches in it, in order."""


class SearchResult(Schema):
    """A matching note."""

    workspace_id: WorkspaceId
    file_id: FileId
    path: str
    title: str | None
    """Its first heading."""
    revision_id: RevisionId
    """The head that was searched."""
    score: float
    """Comparable within one response only."""
    snippets: tuple[SnippetDocument, ...]
    """At most three; empty when only the path matches, or when there were too many texts."""


class SearchResults(Schema):
    """Matching notes, best first."""

    items: tuple[SearchResult, ...]
    more: bool
    """Whether there are more results."""
    complete: bool
    """False when recent changes are not fully indexed yet."""


class OutgoingLinkDocument(Schema):
    """A link of a note; equal links are listed once."""

    kind: Literal["standard", "wiki"]
    """The syntax of the link."""
    embed: bool
    """Whether it embeds its target."""
    target: str
    """The target as written, decoded; empty for a link to the note itself."""
    heading: str | None
    file_id: FileId | None
    """The file that the link resolves to; null if there is none."""
    path: str | None
    """The path of that file."""
    heading_found: bool | None
    """Whether the target note has the heading. Null without a heading, without a target note, and
    when the notes to search are too large.
    """


class FoundLinkDocument(Schema):
    """A link, and the note that contains it."""

    file_id: FileId
    path: str
    title: str | None
    """The first heading of the note."""
    kind: Literal["standard", "wiki"]
    embed: bool
    target: str
    heading: str | None


class FileLinks(Schema):
    """The links of a file: all outgoing ones, and a page of incoming ones."""

    outgoing: tuple[OutgoingLinkDocument, ...]
    """In the order of the note; only on the first page."""
    incoming: tuple[FoundLinkDocument, ...]
    """From other notes."""
    next: Cursor | None
    """The ``after`` of the next page of ``incoming``; null on the last page."""


class LinkList(ListPage[FoundLinkDocument]):
    """A page of links."""


class AttachmentUploadResult(Schema):
    """A temporary image, which becomes a file when it is attached."""

    object_id: Identifier
    digest: str
    """The SHA-256 digest of the stored bytes, hexadecimal."""
    size: int
    """In bytes."""
    media_type: str
    width: int
    height: int
    frames: int
    """1 for an image that does not move."""
    expires_at: Timestamp
    """It can be attached until then."""


class StartedImport(Schema):
    """An import whose parts can be sent."""

    import_id: Identifier
    part_size: int
    """Maximum size of a part, in bytes."""
    max_parts: int


class ImportWorkspaceResult(Schema):
    """What an import made."""

    notes: int
    attachments: int
    left_out: dict[str, int]
    """How many files were left out, by kind: settings of programs, history of an export, other."""
    cleaned: int
    """How many files got a path without the hidden characters that it had in the archive; links to
    them lead there.
    """
    position: identity.Position
    """The position of the workspace after the import."""


class ImportPart(Schema):
    """A part that was received."""

    number: int
    size: int
    """In bytes."""
    digest: str
    """The SHA-256 digest of its bytes, hexadecimal."""


class ImportFailure(Schema):
    """Why an import was refused."""

    code: str
    """The code of the problem."""
    detail: str


class Import(Schema):
    """An import, and how far it is."""

    import_id: Identifier
    state: Literal["started", "running", "done", "failed"]
    """``started`` means that parts can be sent, and the import completed; ``failed`` means the same
    after a refusal.
    """
    parts: tuple[int, ...]
    """The numbers of the parts that were received; empty when it is done."""
    received: tuple[ImportPart, ...]
    """The same parts with their sizes and digests, so that an interrupted client sends the others;
    empty unless the state is ``started``.
    """
    read: int
    """Bytes of files that came in."""
    total: int
    """Bytes of all files; 0 until they are known."""
    result: ImportWorkspaceResult | None
    failure: ImportFailure | None
    """Null unless it failed."""
