"""What a checker must know of a system: what it would do without concurrency."""

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

from octavo.actors.testing.entry import Entry, Status

OperationT_contra = TypeVar("OperationT_contra", contravariant=True)
StateT = TypeVar("StateT", bound=Hashable)


class Model(Protocol[OperationT_contra, StateT]):
    """What a system without concurrency would do. Its states are immutable and hashable."""

    def partition(self, operation: OperationT_contra) -> Hashable:
        """Name the independent part of the system that an operation concerns.

        Raises:
            TypeError: the model does not know this kind of operation.
        """
        ...

    def initial(self, partition: Hashable, entries: Sequence[Entry[OperationT_contra]]) -> StateT:
        """Give the state of a partition before any of its entries.

        Args:
            partition: the name of the part.
            entries: all its entries that may have been carried out. A model may look ahead in
                them to leave out of its states what none of them can tell.
        """
        ...

    def step(
        self, state: StateT, operation: OperationT_contra, status: Status, result: object
    ) -> StateT | None:
        """Carry out one operation.

        Args:
            state: the state before it.
            operation: what was asked.
            status: `OK`, `REFUSED` or `UNKNOWN`; the latter asks for the effect if it happened.
            result: what the client was told.

        Returns:
            The state after it, or `None` when the answer cannot be given in this state.
        """
        ...

    def may_change(self, operation: OperationT_contra, status: Status) -> bool:
        """Whether there is a state that `step` would change; when in doubt, true.

        Where this is false, `step` answers the same state or `None`, in every state.
        """
        ...
