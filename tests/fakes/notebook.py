"""A workspace whose files are committed and indexed without an actor, for the index tests."""

from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from octavo_rules.content import note_text
from octavo_rules.identity import (
    AccountId,
    ContentId,
    Digest,
    FileId,
    MutationId,
    Position,
    RevisionId,
    WorkspaceId,
)

from octavo.actors.jobs.indexing import index_some
from octavo.features.links.sql.link_index import LINKS
from octavo.features.search.rules import finders_of, ranked
from octavo.features.search.sql.fulltext_index import WORDS
from octavo.features.search.sql.searching import candidates
from octavo.model.files.changeset import Outcome
from octavo.model.files.confinement import Confinement
from octavo.model.files.path import kind_of
from octavo.model.files.plan import Change
from octavo.model.files.revision import Revision
from octavo.model.search.query import ANY_HEAD, HeadFilter, parse_query
from octavo.store import Script, Store, Transaction, Value
from octavo.store.queries.changesets import store_changes
from octavo.store.queries.index_backlog import FileIndex, workspaces_to_index

_numbers = count(1)
_WORKSPACE = """
    SELECT pk FROM workspaces WHERE id = $1::uuid
    UNION ALL SELECT pk FROM deleted_workspaces WHERE id = $1::uuid
"""


@dataclass
class Notebook:
    """Files by their ids; each call is one commit.

    With ``linking``, its links are indexed after each commit; otherwise nothing is indexed before
    `catch_up`. Changes are those of ``author``.
    """

    store: Store
    workspace_id: WorkspaceId
    linking: bool = False
    author: str = "ann"

    def __post_init__(self) -> None:
        self.heads: dict[str, Revision] = {}

    async def open(self) -> "Notebook":
        await self.execute(
            "INSERT INTO workspaces (id, name, position, created_at) VALUES ($1::uuid, 'n', 0, 0)",
            self.workspace_id,
        )
        return self

    async def execute(self, sql: str, *arguments: Value) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(sql, *arguments)

        await self.store.write(script)

    async def count(self, table: str) -> int:
        async def script(transaction: Transaction) -> int:
            row = await transaction.fetch_one(
                f"SELECT COUNT(*) FROM {table} WHERE workspace = ({_WORKSPACE})", self.workspace_id
            )
            assert row is not None
            return int(row[0])

        return await self.store.read(script)

    def change(
        self,
        file: str,
        outcome: Outcome,
        *,
        path: str | None = None,
        text: str | None = None,
    ) -> Change:
        """The next change of a file."""
        number = next(_numbers)
        revision_id = RevisionId(f"r{number:06}")
        content = None if text is None else note_text(text)
        old = self.heads.get(file)
        base = None if old is None else old.revision_id
        if old is None:
            assert path is not None
            old = Revision(
                file_id=FileId(file),
                state="live",
                kind=kind_of(path) or "note",
                path=path,
                revision_id=revision_id,
                position=Position(0),
                content_id=ContentId(revision_id),
                digest=Digest(""),
                size=0,
                media_type="",
                author=AccountId(self.author),
                mutation_id=MutationId("m"),
                created_at=number,
            )
        head = replace(
            old,
            revision_id=revision_id,
            path=old.path if path is None else path,
            content_id=old.content_id if content is None else ContentId(revision_id),
            size=old.size if content is None else content.size,
            created_at=number,
            author=AccountId(self.author),
            state="live",
        )
        if outcome == "deleted":
            head = replace(head, state="deleted")
        if outcome == "purged":
            head = replace(head, state="purged", path="", content_id=ContentId(""), size=0)
        self.heads[file] = head
        return Change(outcome, head, base, content)

    def keeping(self, *changes: Change) -> Script[None]:
        """Return what a commit of changes stores, in their order."""

        async def script(transaction: Transaction) -> None:
            created = sum(change.outcome == "created" for change in changes)
            found = await transaction.fetch_one(
                "UPDATE workspaces SET position = position + $3, last_file = last_file + $2,"
                " mark_id = $4::uuid WHERE id = $1::uuid RETURNING position, last_file, pk",
                self.workspace_id,
                created,
                len(changes),
                changes[-1].head.revision_id,
            )
            assert found is not None
            stored = [
                replace(change, head=replace(change.head, position=Position(position)))
                for position, change in enumerate(changes, found[0] + 1 - len(changes))
            ]
            await store_changes(transaction, found[2], stored, found[1] - created, preserve=False)
            purged = [change.head.file_id for change in changes if change.outcome == "purged"]
            if purged:
                for listener in transaction.listeners.files_purged:
                    await listener(transaction, self.workspace_id, found[2], purged)

        return script

    async def keep(self, *changes: Change) -> None:
        await self.store.write(self.keeping(*changes))
        if self.linking:
            await self.index_links()

    async def write(self, file: str, text: str, path: str | None = None) -> None:
        outcome: Outcome = "updated" if file in self.heads else "created"
        await self.keep(self.change(file, outcome, path=path or self._path(file), text=text))

    def _path(self, file: str) -> str:
        head = self.heads.get(file)
        return f"{file}.md" if head is None else head.path

    async def move(self, file: str, path: str) -> None:
        await self.keep(self.change(file, "updated", path=path))

    async def delete(self, file: str) -> None:
        await self.keep(self.change(file, "deleted"))

    async def restore(self, file: str) -> None:
        await self.keep(self.change(file, "restored"))

    async def purge(self, file: str) -> None:
        await self.keep(self.change(file, "purged"))

    async def catch_up(self, index: FileIndex[Any] = WORDS) -> int:
        """Index all words, or links; return the number of steps."""
        steps = 0
        left = [self.workspace_id]
        while left:
            left = await self.step(index)
            steps += 1
        return steps

    async def step(self, index: FileIndex[Any]) -> list[WorkspaceId]:
        """Index some changes; return the workspace if it may have more."""
        done = await index_some(self.store, index, [self.workspace_id])
        return [*done.left, *done.overtaken]

    async def index_links(self) -> int:
        """Index all links; return the number of steps."""
        return await self.catch_up(LINKS)

    async def damage(self, file: str) -> None:
        """Spoil the stored text of a file, as a failing disk does."""
        await self.execute(
            "UPDATE contents SET compressed = $3 WHERE pk = (SELECT content FROM files"
            f" WHERE workspace = ({_WORKSPACE}) AND file_id = $2::uuid)",
            self.workspace_id,
            file,
            b"damaged",
        )

    async def is_waiting(self, index: FileIndex[Any] = WORDS) -> bool:
        """Whether there are words, or links, to be indexed."""
        return bool(await self.store.read(workspaces_to_index(index, [self.workspace_id])))

    async def search(
        self,
        query: str,
        folder: str | None = None,
        within: Confinement | None = None,
        heads: HeadFilter = ANY_HEAD,
    ) -> list[str]:
        """The ids of the matching files, best first."""
        asked = parse_query(query)
        await self.catch_up()
        script = candidates([self.workspace_id], asked, folder, within, heads)
        found = await self.store.read_much(script)
        return [each.candidate.file_id for each in ranked(found.candidates, finders_of(asked))]
