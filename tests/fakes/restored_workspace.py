"""Workspaces of a few files that change at random, and are restored."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from octavo_rules.content import MARKDOWN, note_text
from octavo_rules.identity import AccountId, ContentId, FileId, MutationId, Position, RevisionId

from octavo.features.history.rules.restoration import (
    BatchSizes,
    Begun,
    DivergedFile,
    Restoration,
    batches,
    restoration,
)
from octavo.features.history.rules.reversion import Reversion
from octavo.model.files.path import folders_of, path_key
from octavo.model.files.revision import Revision, State
from octavo.model.files.tree import Tree
from octavo.model.refusal import InvalidGraph, PathConflict

OURS, THEIRS = MutationId("ours"), MutationId("theirs")
SMALL = BatchSizes(only=3, step=2)


def revision(
    file_id: str,
    path: str,
    text: str = "",
    *,
    position: int = 0,
    state: State = "live",
    by: MutationId = THEIRS,
) -> Revision:
    content = note_text(text)
    return Revision(
        file_id=FileId(file_id),
        state=state,
        kind="note",
        path=path,
        revision_id=RevisionId(f"{file_id}-{position}"),
        position=Position(position),
        content_id=ContentId(f"{file_id}-{position}"),
        digest=content.digest,
        size=content.size,
        media_type=MARKDOWN,
        author=AccountId("a"),
        mutation_id=by,
        created_at=position,
    )


@dataclass
class Workspace:
    """A workspace whose every tree is kept."""

    tree: Tree = field(default_factory=Tree)
    trees: list[dict[FileId, Revision]] = field(default_factory=lambda: [{}])

    @property
    def position(self) -> int:
        return len(self.trees) - 1

    def push(self, *heads: Revision) -> bool:
        """Accept a changeset, unless the tree would be invalid."""
        made = [
            replace(
                each,
                position=Position(self.position + 1),
                revision_id=RevisionId(f"{each.file_id}-{self.position + 1}"),
            )
            for each in heads
        ]
        try:
            self.tree.check({each.file_id: each for each in made})
        except (PathConflict, InvalidGraph):
            return False
        for each in made:
            self.tree.put(each)
        self.trees.append(dict(self.tree.heads))
        return True

    def restoration(
        self, position: int, folder: str = "", begun: Begun | None = None
    ) -> Restoration:
        then, now = self.trees[position], self.tree.heads
        changed = [
            DivergedFile(head, then.get(file_id))
            for file_id, head in now.items()
            if head.position > position
        ]
        others = [
            each.path for each in now.values() if each.position <= position and each.state == "live"
        ]
        return restoration(changed, others, folder, begun)

    def live(self, position: int | None = None) -> dict[FileId, tuple[str, str]]:
        heads = self.tree.heads if position is None else self.trees[position]
        return {
            each.file_id: (each.path, each.digest)
            for each in heads.values()
            if each.state == "live"
        }

    def apply(self, batch: tuple[Reversion, ...]) -> None:
        """Accept a changeset of a restoration, which must be valid."""
        for each in batch:
            assert each.head == self.tree.heads[each.head.file_id], "the head moved"
        assert self.push(*(replace(each.result, mutation_id=OURS) for each in batch))


PATHS = ("a.md", "A.md", "b.md", "c.md", "f/a.md", "f/b.md", "f/b.md/c.md", "a.md/x.md", "g/a.md")
FILES = tuple("12345678")

heads = st.builds(
    revision,
    st.sampled_from(FILES),
    st.sampled_from(PATHS),
    st.sampled_from(("x", "y")),
    state=st.sampled_from(("live", "live", "live", "deleted")),
)
changesets = st.lists(heads, min_size=1, max_size=6, unique_by=lambda each: each.file_id)


@st.composite
def workspaces(draw: st.DrawFn) -> Workspace:
    made = Workspace()
    for changeset in draw(st.lists(changesets, min_size=1, max_size=8)):
        made.push(*changeset)
    return made


def run(workspace: Workspace, position: int, folder: str, sizes: BatchSizes) -> int:
    """Restore, and return the number of changesets."""
    begun = Begun(Position(workspace.position), frozenset({OURS}))
    count = 0
    while todo := batches(workspace.restoration(position, folder, begun).pending, sizes):
        for batch in todo:
            assert len(batch) <= sizes.only
            workspace.apply(batch)
            count += 1
        assert count < 100
    return count


def needed(reversions: Sequence[Reversion]) -> dict[str, set[str]]:
    """Which files have to leave before each can have its path, directly or through others."""
    found: dict[str, set[str]] = {}
    for each in reversions:
        found[each.head.file_id] = {
            other.head.file_id
            for other in reversions
            if other is not each
            and each.target is not None
            and other.head.state == "live"
            and in_the_way(other.head.path, each.target.path)
        }
    for _ in reversions:
        for some in found.values():
            some.update(*(found[each] for each in [*some]))
    return found


def in_the_way(one: str, other: str) -> bool:
    a, b = path_key(one), path_key(other)
    return a == b or a in folders_of(b) or b in folders_of(a)
