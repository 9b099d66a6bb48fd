"""Registers by themselves: the model for histories of reads and swaps alone."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo.actors.testing.entry import Entry, Seen, Status
from octavo.actors.testing.operations import Read, Register, Swap, Value


class RegisterState(NamedTuple):
    """The value of one register."""

    value: Value

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class RegisterModel:
    """Registers that know nothing of each other: each is checked alone, which is fast.

    Takes `Read` and `Swap`. A refused swap is legal where its expected value does not stand.

    Args:
        values: the registers that exist at the start.
    """

    values: Mapping[Register, Value] = field(default_factory=dict)

    def partition(self, operation: Read | Swap) -> Register:
        """Take each register for itself.

        Raises:
            TypeError: the operation is neither a read nor a swap.
        """
        if not isinstance(operation, Read | Swap):
            raise TypeError(f"RegisterModel cannot judge {operation}: use WorkspaceModel")
        return operation.register

    def initial(self, partition: Hashable, entries: Sequence[Entry[Read | Swap]]) -> RegisterState:
        """Give the value that the register has at the start."""
        assert isinstance(partition, Register)
        return RegisterState(self.values.get(partition))

    def step(
        self, state: RegisterState, operation: Read | Swap, status: Status, result: object
    ) -> RegisterState | None:
        """Read or swap."""
        if isinstance(operation, Read):
            return state if read_agrees(state.value, status, result) else None
        if status is Status.REFUSED:
            return state if refusal_agrees(operation, state.value, result) else None
        return RegisterState(operation.new) if state.value == operation.expected else None

    def may_change(self, operation: Read | Swap, status: Status) -> bool:
        """Only swaps change something, unless refused."""
        return isinstance(operation, Swap) and status is not Status.REFUSED


def read_agrees(value: Value, status: Status, result: object) -> bool:
    """Whether a read of a register that holds this value may have got that answer."""
    return result is Seen.NOTHING if status is Status.REFUSED else result == value


def refusal_agrees(swap: Swap, value: Value, seen: object) -> bool:
    """Whether a register that holds this value is a reason to refuse the swap with that answer."""
    if seen is Seen.NOTHING:
        return True
    return value != swap.expected and (seen is Seen.MOVED or seen == value)
