"""Registers moved by compare-and-set: the simplest model that a history can be checked against.

| operation      | result of an `ok`              | what a `refused` saw                        |
|----------------|--------------------------------|---------------------------------------------|
| `ReadRegister` | the value                      | `Seen.NOTHING`                              |
| `SwapRegister` | not checked                    | the value found, `Seen.MOVED` or `NOTHING`  |
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from greenroom.testing.history import HistoryEntry, Seen, Status

Value: TypeAlias = Hashable
"""The value of a register; `None` stands for absent."""


@dataclass(frozen=True, slots=True)
class ReadRegister:
    """Read one register. The result is its value, `None` if it is absent."""

    register: Hashable

    def __str__(self) -> str:
        return f"read {self.register}"


@dataclass(frozen=True, slots=True)
class SwapRegister:
    """Replace the expected value of one register, or change nothing.

    Args:
        register: the name of the register.
        expected: the value required for the swap; `None` requires the register to be absent.
        new: the value to write; `None` removes it.
    """

    register: Hashable
    expected: Value
    new: Value

    def __str__(self) -> str:
        return f"swap {self.register} {self.change}"

    @property
    def change(self) -> str:
        """The two values as text, without the register."""
        return f"{self.expected!r}→{self.new!r}"


class RegisterState(NamedTuple):
    """The value of one register."""

    value: Value

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class RegisterModel:
    """Independent registers; each is a partition of its own, which keeps the search short.

    Accepts `ReadRegister` and `SwapRegister`. A refused swap is legal where the register does not
    hold the expected value.

    Args:
        values: the initial values; registers that are not listed are absent.
    """

    values: Mapping[Hashable, Value] = field(default_factory=dict)

    def partition(self, operation: ReadRegister | SwapRegister) -> Hashable:
        """Return the register.

        Raises:
            TypeError: the operation is neither a read nor a swap.
        """
        if not isinstance(operation, ReadRegister | SwapRegister):
            raise TypeError(f"RegisterModel cannot judge {operation}: only reads and swaps")
        return operation.register

    def initial(
        self,
        partition: Hashable,
        entries: Sequence[HistoryEntry[ReadRegister | SwapRegister]],
    ) -> RegisterState:
        """Return the initial value of the register."""
        return RegisterState(self.values.get(partition))

    def step(
        self,
        state: RegisterState,
        operation: ReadRegister | SwapRegister,
        status: Status,
        result: object,
    ) -> RegisterState | None:
        """Read or swap."""
        if isinstance(operation, ReadRegister):
            return state if read_agrees(state.value, status, result) else None
        if status is Status.REFUSED:
            return state if refusal_agrees(operation, state.value, result) else None
        return RegisterState(operation.new) if state.value == operation.expected else None

    def may_change(self, operation: ReadRegister | SwapRegister, status: Status) -> bool:
        """Return whether it is a swap that was not refused."""
        return isinstance(operation, SwapRegister) and status is not Status.REFUSED


def read_agrees(value: Value, status: Status, result: object) -> bool:
    """Return whether reading a register that holds ``value`` can have this outcome."""
    return result is Seen.NOTHING if status is Status.REFUSED else result == value


def refusal_agrees(swap: SwapRegister, value: Value, seen: object) -> bool:
    """Return whether a register that holds ``value`` explains that ``swap`` was refused."""
    if seen is Seen.NOTHING:
        return True
    return value != swap.expected and (seen is Seen.MOVED or seen == value)
