"""The operations of a recorded history of workspaces.

A workspace holds registers; a register holds one hashable value, or `None` if it is absent. Every
operation either observes registers or changes them by compare-and-set, so that a checker can find
from its result alone where in the order it may have been.

| operation  | result of an `ok`                              | what a `refused` saw            |
|------------|------------------------------------------------|---------------------------------|
| `Read`     | the value                                      | `Seen.NOTHING`                  |
| `Snapshot` | a mapping from key to value, or a `View`       | `Seen.NOTHING`                  |
| `Swap`     | its position, or `None` if it is not known     | the value that it found         |
| `Commit`   | its position                                   | a mapping from key to value for |
|            |                                                | every key that had moved        |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from greenroom.testing.registers import ReadRegister, SwapRegister, Value


@dataclass(frozen=True, slots=True, order=True)
class Register:
    """The name of one register.

    Args:
        workspace: the workspace that the register belongs to.
        key: the name of the register within its workspace.
    """

    workspace: str
    key: str

    def __str__(self) -> str:
        return f"{self.workspace}/{self.key}"


@dataclass(frozen=True, slots=True)
class Read(ReadRegister):
    """Read one register. The result is its value, `None` if it is absent."""

    register: Register


@dataclass(frozen=True, slots=True)
class Swap(SwapRegister):
    """Replace the expected value of one register, or change nothing."""

    register: Register


@dataclass(frozen=True, slots=True)
class Commit:
    """Make several swaps of one workspace atomically.

    An accepted commit takes the next position of its workspace. The mutation makes it idempotent:
    repeated with the same content it returns the first position again and changes nothing.

    Args:
        workspace: the workspace that all swaps lie in.
        mutation: the identity of the change, chosen by the client.
        swaps: at least one, no two of the same register.

    Raises:
        ValueError: there is no swap, one lies in another workspace, or two move one register.
    """

    workspace: str
    mutation: str
    swaps: tuple[Swap, ...]

    def __post_init__(self) -> None:
        if not self.swaps:
            raise ValueError(f"commit {self.mutation} has no swaps")
        strangers = [str(s.register) for s in self.swaps if s.register.workspace != self.workspace]
        if strangers:
            raise ValueError(f"commit {self.mutation} leaves {self.workspace}: {strangers}")
        if len({swap.register for swap in self.swaps}) < len(self.swaps):
            raise ValueError(f"commit {self.mutation} moves one register twice")

    @classmethod
    def of(
        cls, workspace: str, mutation: str, swaps: Mapping[str, tuple[Value, Value]]
    ) -> "Commit":
        """Return a commit from a mapping of key to (expected, new).

        Args:
            workspace: the workspace to change.
            mutation: the identity of the change.
            swaps: for each key the expected and the new value.

        Returns:
            The commit, its swaps in the order of the mapping.

        Raises:
            ValueError: the mapping is empty.
        """
        changes = (Swap(Register(workspace, key), *values) for key, values in swaps.items())
        return cls(workspace, mutation, tuple(changes))

    @property
    def written(self) -> dict[str, Value]:
        """The new value for each key that the commit moves."""
        return {swap.register.key: swap.new for swap in self.swaps}

    def __str__(self) -> str:
        changes = ", ".join(f"{swap.register.key}: {swap.change}" for swap in self.swaps)
        return f"commit {self.workspace} {self.mutation} {{{changes}}}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Read several registers of one workspace at one moment.

    Args:
        workspace: the workspace to look at.
        registers: the keys to look at; may be empty when only the position is of interest.
    """

    workspace: str
    registers: tuple[str, ...]

    def __str__(self) -> str:
        return f"snapshot {self.workspace} ({', '.join(self.registers)})"


@dataclass(frozen=True, slots=True)
class View:
    """The result of a snapshot with the position at which it is exact.

    Args:
        values: a value for every key asked for, `None` for an absent one.
        position: the last position that the view contains.
    """

    values: Mapping[str, Value]
    position: int

    def __str__(self) -> str:
        return f"{dict(self.values)!r} at {self.position}"


Operation: TypeAlias = Read | Swap | Commit | Snapshot
"""An operation of this module."""
