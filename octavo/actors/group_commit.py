"""The storage actor: every write that waits, from everybody, in one durable transaction.

One fsync serves all that came while the one before was under way, with no timer. The more callers
there are, the less each of them costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from outcome import Outcome

from octavo.actors.core import (
    Actor,
    ActorRef,
    ActorSpec,
    Envelope,
    MailboxFull,
    Message,
    NotExecuted,
    OutcomeUnknown,
)
from octavo.store import Script, Store, StoreUnavailable
from octavo.store.transaction import T

MAILBOX_CAPACITY = 4096
BATCH_LIMIT = 256


class Engine(Store, Protocol):
    """A store that can write many scripts at once."""

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> list[Outcome[Any]]:
        """Run scripts in one transaction; return what each returned or raised, in order.

        A script that raises leaves nothing behind. When the database fails, all of them do.
        Cancellation waits until it is done.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Write(Message["Storage", Outcome[T]], Generic[T]):
    """Keep what a script does. The answer is what the script returned or raised."""

    script: Script[T]


class Storage(Actor[Write[Any]]):
    """Writes, in batches, to ``engine``.

    Its fault points are ``storage.before_commit``, when nothing was done yet, and
    ``storage.after_commit``, when everything is kept and nobody knows.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def handle_batch(self, batch: Sequence[Envelope[Write[Any]]]) -> None:
        """Commit all that wait, then answer each."""
        await self.context.fault_point("storage.before_commit")
        outcomes = await self._engine.write_batch([envelope.message.script for envelope in batch])
        await self.context.fault_point("storage.after_commit")
        for envelope, outcome in zip(batch, outcomes, strict=True):
            envelope.reply(envelope.message.reply(outcome))


def storage(engine: Engine, *, name: str = "storage") -> ActorSpec[Storage]:
    """Return what to put under supervision so that writes to ``engine`` are committed together."""
    return ActorSpec(
        name,
        lambda: Storage(engine),
        mailbox_capacity=MAILBOX_CAPACITY,
        batch_limit=BATCH_LIMIT,
    )


class GroupCommit:
    """A `Store` whose writes go through the storage actor, and whose reads go to its engine.

    Args:
        actor: the storage actor.
        engine: what it writes to.
    """

    def __init__(self, actor: ActorRef[Storage], engine: Engine) -> None:
        self._actor = actor
        self._engine = engine

    async def read(self, script: Script[T]) -> T:
        """As of `Store`."""
        return await self._engine.read(script)

    async def read_much(self, script: Script[T]) -> T:
        """As of `Store`."""
        return await self._engine.read_much(script)

    async def write(self, script: Script[T]) -> T:
        """As of `Store`: in one transaction with all other writes that wait.

        When cancelled before the actor took it, the script does nothing; later, it is finished.
        """
        try:
            outcome = await self._actor.ask(Write(script))
        except MailboxFull as error:
            raise StoreUnavailable(f"too many writes wait: {error}") from error
        except NotExecuted as error:
            raise StoreUnavailable(f"nothing was written: {error}") from error
        except OutcomeUnknown as error:
            raise StoreUnavailable(str(error), outcome_unknown=True) from error
        return outcome.unwrap()
