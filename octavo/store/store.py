"""The door to what is kept, whichever engine is behind it."""

from typing import Protocol

from octavo.store.transaction import Script, T


class Store(Protocol):
    """Runs scripts, each as if it were alone (serializable).

    When a call of a method is cancelled, a read ends; a write that began is finished, and may
    have been kept or not.
    """

    async def read(self, script: Script[T]) -> T:
        """Run a script that changes nothing and reads a few rows; answer what it returns.

        It sees every write that was acknowledged before. What it raises comes out. Raises
        `StoreUnavailable`.
        """

    async def read_much(self, script: Script[T]) -> T:
        """As `read`, for a script that reads many rows: it holds up nobody else."""

    async def write(self, script: Script[T]) -> T:
        """Run a script and keep what it did: when this returns, it is durable.

        When the script raises, nothing of it is kept, and what it raised comes out. Raises
        `StoreUnavailable`, whose ``outcome_unknown`` tells whether the write may have been kept.
        """
