"""The interface of a store, whatever its engine."""

from typing import Protocol

from octavo.store.transaction import Script, T


class Store(Protocol):
    """Runs scripts in serializable transactions.

    When a call is cancelled, a read ends. A write that has begun is finished, and may have been
    committed or not.
    """

    async def read(self, script: Script[T]) -> T:
        """Run a script that changes nothing and reads a few rows; return its result.

        It sees every write that was acknowledged before. Exceptions of the script propagate. Raises
        `StoreUnavailable`. Not every read is a checkpoint.
        """

    async def read_much(self, script: Script[T]) -> T:
        """Run a script that reads many rows, without blocking other calls; see `read`."""

    async def write(self, script: Script[T]) -> T:
        """Run a script and commit it; when this returns, the commit is durable.

        When the script raises, nothing is committed and its exception propagates. Raises
        `StoreUnavailable`, whose ``outcome_unknown`` says whether the write may have been
        committed.
        """
