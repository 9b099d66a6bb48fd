"""Plan a batch of changesets in order, each on top of the planned ones before it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from octavo_rules.documents.document import Documents
from octavo_rules.identity import Cursor, FileId

from octavo.model.files.changeset import AttachImage, Changeset
from octavo.model.files.image import ObjectId, UploadMissing
from octavo.model.files.plan import Plan, plan
from octavo.model.files.revision import Revision
from octavo.model.files.tree import Tree

T = TypeVar("T")


def portions(items: Sequence[T], size_of: Callable[[T], int], maximum: int) -> Iterator[list[T]]:
    """Split ``items`` into portions of total size ``maximum``, or of a single larger item.

    Portions are in order and not empty. They bound how long later items wait for one portion.
    """
    portion: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if portion and total + size > maximum:
            yield portion
            portion, total = [], 0
        portion.append(item)
        total += size
    if portion:
        yield portion


class Batch:
    """Plans changesets over a tree, which shows their effects until they are rolled back.

    Args:
        tree: the tree; every plan changes it.
        cursor: that of the newest changeset in it.
        now: Unix time in milliseconds.
        new_revision_id: returns an id for a revision.
        documents: the documents of the notes that the changesets change; every plan changes them.
            `roll_back` does not restore them.
        room: the bytes by which the storage of the workspace may grow; None for any number.

    Attributes:
        plans: the plans, in order.
        purges: whether one of them purges a file.
        cursor: that after the plans.
    """

    def __init__(
        self,
        tree: Tree,
        cursor: Cursor,
        now: int,
        new_revision_id: Callable[[], str],
        documents: Documents,
        room: int | None = None,
    ) -> None:
        self._tree = tree
        self._now = now
        self._new_revision_id = new_revision_id
        self._documents = documents
        self._room = room
        self._before: list[tuple[FileId, Revision | None]] = []
        self._attached: set[ObjectId] = set()
        self.plans: list[Plan] = []
        self.purges = False
        self.cursor = cursor

    def add(self, changeset: Changeset) -> Plan:
        """Plan ``changeset`` after the others; raises a `Problem` and changes nothing then."""
        attached = self._newly_attached(changeset)
        planned = plan(
            self._tree,
            self.cursor,
            changeset,
            self._now,
            self._new_revision_id,
            self._documents,
            self._room,
        )
        if self._room is not None:
            self._room -= planned.needed
        for change in planned.changed:
            head = change.head
            self._before.append((head.file_id, self._tree.heads.get(head.file_id)))
            self._tree.put(head)
            if change.outcome == "purged":
                self.purges = True
        self._attached |= attached
        self.plans.append(planned)
        self.cursor = planned.cursor
        return planned

    def _newly_attached(self, changeset: Changeset) -> set[ObjectId]:
        """Return the uploads that a changeset attaches; raises `UploadMissing` for a second use."""
        attached: set[ObjectId] = set()
        for operation in changeset.operations:
            if isinstance(operation, AttachImage):
                object_id = operation.image.object_id
                if object_id in attached or object_id in self._attached:
                    raise UploadMissing(operation.file_id)
                attached.add(object_id)
        return attached

    def roll_back(self) -> None:
        """Restore the tree as it was before the first plan."""
        # In reverse order, so that the first holder of a path gets it back.
        while self._before:
            file_id, old = self._before.pop()
            if old is None:
                self._tree.forget(file_id)
            else:
                self._tree.put(old)
        self.plans.clear()
        self._attached.clear()
