"""Plan changesets one after the other, each as if those before it were kept already."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from octavo.model.documents.document import Documents
from octavo.model.files.changeset import Changeset
from octavo.model.files.plan import Plan, plan
from octavo.model.files.revision import Revision
from octavo.model.files.tree import Tree
from octavo.model.identity import FileId, Position

T = TypeVar("T")


def portions(items: Sequence[T], size_of: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Cut ``items`` into portions of at most ``most`` together, or of one item that has more.

    They come in their order, and none is empty: whatever waits behind a portion waits no longer
    than for so much.
    """
    portion: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if portion and total + size > most:
            yield portion
            portion, total = [], 0
        portion.append(item)
        total += size
    if portion:
        yield portion


class Batch:
    """Plans over a tree, which shows them all at once until they are kept or taken back.

    Args:
        tree: changed by every plan.
        position: of the newest changeset in it.
        now: milliseconds of Unix time.
        new_revision_id: makes the id of a revision.
        documents: of the notes that the changesets name; changed by every plan, and taken back by
            whoever keeps them.

    Attributes:
        plans: what was planned, in order.
        position: behind the plans.
    """

    def __init__(
        self,
        tree: Tree,
        position: Position,
        now: int,
        new_revision_id: Callable[[], str],
        documents: Documents,
    ) -> None:
        self._tree = tree
        self._now = now
        self._new_revision_id = new_revision_id
        self._documents = documents
        self._before: list[tuple[FileId, Revision | None]] = []
        self.plans: list[Plan] = []
        self.position = position

    def add(self, changeset: Changeset) -> Plan:
        """Plan ``changeset`` behind the others; raises a `Refusal`, and then nothing changed."""
        planned = plan(
            self._tree,
            self.position,
            changeset,
            self._now,
            self._new_revision_id,
            self._documents,
        )
        for change in planned.changed:
            head = change.head
            self._before.append((head.file_id, self._tree.heads.get(head.file_id)))
            self._tree.put(head)
        self.plans.append(planned)
        self.position = planned.position
        return planned

    def take_back(self) -> None:
        """Leave the tree as it was before the first plan."""
        # The last first: whoever stood at a path before is back there in the end.
        while self._before:
            file_id, old = self._before.pop()
            if old is None:
                self._tree.forget(file_id)
            else:
                self._tree.put(old)
        self.plans.clear()
