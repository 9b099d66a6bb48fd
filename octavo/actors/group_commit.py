"""Group commit: one actor commits all pending writes in one durable transaction.

One fsync covers every write that arrived during the previous commit; no timer is involved. The
cost of a write falls as the number of concurrent writers rises.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

import greenroom
from outcome import Outcome

from octavo.store import Script, Store, StoreUnavailable
from octavo.store.transaction import T

MAILBOX_CAPACITY = 4096
BATCH_LIMIT = 256


class BatchStore(Store, Protocol):
    """A store that can run several scripts in one transaction."""

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> list[Outcome[Any]]:
        """Run scripts in one transaction; return what each returned or raised, in order.

        A script that raises is rolled back alone. A failure of the database rolls back all of them.
        Cancellation is deferred until the transaction has ended.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Write(greenroom.Message[Outcome[T]], Generic[T]):
    """Commit a script. The reply is the outcome of the script: its result or its error."""

    script: Script[T]


class Storage(greenroom.Actor[Write[Any]]):
    """Commits writes to ``engine`` in batches.

    Fault points: ``storage.before_commit``, before anything was written, and
    ``storage.after_commit``, after the commit and before the replies.
    """

    def __init__(self, engine: BatchStore) -> None:
        self._engine = engine

    async def handle_batch(self, batch: Sequence[greenroom.Envelope[Write[Any]]]) -> None:
        """Commit all pending writes in one transaction, then reply to each."""
        await self.context.fault_point("storage.before_commit")
        outcomes = await self._engine.write_batch([envelope.message.script for envelope in batch])
        await self.context.fault_point("storage.after_commit")
        outcomes.reverse()
        for envelope in batch:
            # Taken out of the list: an error refers to frames that have it.
            envelope.reply(envelope.message.reply(outcomes.pop()))


def storage_spec(engine: BatchStore) -> greenroom.ActorSpec[Write[Any]]:
    """Return the specification of the storage actor for ``engine``."""
    return greenroom.ActorSpec(
        "storage",
        lambda: Storage(engine),
        mailbox_capacity=MAILBOX_CAPACITY,
        batch_limit=BATCH_LIMIT,
    )


class GroupCommit:
    """A `Store` that writes through the storage actor and reads from the engine directly.

    Args:
        actor: the storage actor.
        engine: the store that the actor writes to.
    """

    def __init__(self, actor: greenroom.ActorRef[Write[Any]], engine: BatchStore) -> None:
        self._actor = actor
        self._engine = engine

    async def read(self, script: Script[T]) -> T:
        """Implement `Store.read`."""
        return await self._engine.read(script)

    async def read_much(self, script: Script[T]) -> T:
        """Implement `Store.read_much`."""
        return await self._engine.read_much(script)

    async def write(self, script: Script[T]) -> T:
        """Implement `Store.write`: commit in one transaction with all other pending writes.

        Cancellation before the script is accepted leaves it unexecuted; after that, it is run to
        its end, for which the cancelled caller does not wait.
        """
        outcomes: list[Outcome[T]]
        try:
            outcomes = [await self._actor.ask(Write(script))]
        except greenroom.MailboxFull as error:
            raise StoreUnavailable(f"too many pending writes: {error}") from error
        except greenroom.NotExecuted as error:
            raise StoreUnavailable(f"nothing was written: {error}") from error
        except greenroom.OutcomeUnknown as error:
            raise StoreUnavailable(str(error), outcome_unknown=True) from error
        return outcomes.pop().unwrap()
