"""Deliver the messages of the outbox, with retries, until each is sent or given up.

A message is claimed, composed, sent and deleted. It is sent a second time only if its acceptance by
the mail server did not become known: because the process died between the acceptance and the
deletion, or because the connection broke before the reply to the content arrived.

Several processes may deliver from the same outbox. A claim lasts longer than the deadline of a
transport, and nobody else sends a claimed message; the clocks of the processes may differ by the
difference of the two.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.message import EmailMessage
from typing import TYPE_CHECKING

import trio
from attrs import define, field
from greenroom import Backoff

from octavo.access.ports import milliseconds
from octavo.features.mail import sql as outbox
from octavo.features.mail.rules import MailKind, QueuedMail
from octavo.features.mail.transport import MailTransport, SendFailure
from octavo.model.access.account import Account
from octavo.model.access.rate import Rate
from octavo.store import Store, StoreError

if TYPE_CHECKING:
    from octavo.features.mail.composition import Composer

CLAIM_SECONDS = 180.0
"""Seconds for which a message is claimed. The deadline of a message is a third of it."""
POLL_SECONDS = 30.0
"""Seconds between two searches for messages that another process left."""
SHORTEST_PAUSE = 0.01
"""Seconds between two searches, unless a message was added."""
MARK_SECONDS = 5.0
"""Seconds that one attempt to delete a sent message may take, also after a cancellation."""
AT_ONCE = 4
"""Messages that are sent at the same time."""
RETRIES = Backoff(first=5.0, factor=3.0, maximum=600.0, jitter=0.3)
"""The pauses after failures to send one message."""
OUTAGES = Backoff(first=1.0, factor=2.0, maximum=60.0, jitter=0.3)
"""The pauses after failures of the store."""

Prepare = Callable[[QueuedMail, Rate], Awaitable[tuple[Account, Mapping[str, object]] | None]]
"""Returns whom a claimed message is for, and the variables of its template; None when it must not
be sent. Receives the rate of messages to one address, which the first attempt counts against. After
a `StoreError` the message is tried again when its claim has ended."""

_log = logging.getLogger(__name__)


@define(eq=False)
class MailDelivery:
    """Delivers the messages of the outbox.

    Args:
        store: the store of the outbox.
        composer: composes the messages.
        transport: sends them.
        budget: the rate of messages to one address.
        now: returns Unix time in seconds.
        random: returns numbers within [0, 1), for the pauses.
    """

    _store: Store
    _composer: "Composer | None"
    _transport: MailTransport | None
    _budget: Rate
    _now: Callable[[], float]
    _random: Callable[[], float]
    _prepared: dict[MailKind, Prepare] = field(factory=dict, init=False)
    _look_at: float = field(default=math.inf, init=False)
    _waiting: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _free: trio.Semaphore = field(factory=lambda: trio.Semaphore(AT_ONCE), init=False)

    def prepare(self, kind: MailKind, prepare: Prepare) -> None:
        """Call ``prepare`` before a message of this kind is sent; others consist of fixed text."""
        self._prepared[kind] = prepare

    def wake(self, after: float = 0.0) -> None:
        """Look for messages in ``after`` seconds, or sooner."""
        self._look_at = min(self._look_at, trio.current_time() + after)
        self._waiting.deadline = min(self._waiting.deadline, self._look_at)

    async def run(self, stopping: trio.Event, *, alone: bool) -> None:
        """Deliver until ``stopping`` is set; then finish the messages that are being sent.

        With ``alone``, no other process delivers, and the claims of an earlier process end first.
        If cancelled, a message that was being sent is sent again after its claim.
        """
        async with trio.open_nursery() as nursery:
            looking = trio.CancelScope()
            nursery.start_soon(self._look, looking, nursery, alone)
            await stopping.wait()
            looking.cancel(reason="the service stops")

    async def _look(self, looking: trio.CancelScope, nursery: trio.Nursery, alone: bool) -> None:
        failures = 0
        with looking:
            while True:
                self._look_at = math.inf
                try:
                    if alone:
                        await self._store.write(outbox.release(milliseconds(self._now())))
                        alone = False
                    await self._claim_all(nursery)
                    pause = await self._pause()
                    failures = 0
                except StoreError as error:
                    _log.info("delivery of mail is postponed: %s", error)
                    pause = OUTAGES.delay(failures, self._random)
                    failures += 1
                    await trio.sleep(pause)
                    continue
                deadline = min(trio.current_time() + pause, self._look_at)
                with trio.CancelScope(deadline=deadline) as self._waiting:
                    await trio.sleep_forever()

    async def _claim_all(self, nursery: trio.Nursery) -> None:
        """Start the delivery of each message that is due."""
        while True:
            await self._free.acquire()
            mail = None
            try:
                now = milliseconds(self._now())
                mail = await self._store.write(outbox.claim(now, now + int(CLAIM_SECONDS * 1000)))
            finally:
                if mail is None:
                    self._free.release()
            if mail is None:
                return
            nursery.start_soon(self._deliver, mail)

    async def _pause(self) -> float:
        """Return the seconds until the next message is due, at most `POLL_SECONDS`."""
        due = await self._store.read(outbox.next_due)
        if due is None:
            return POLL_SECONDS
        # Times are stored in whole milliseconds: without a pause, this could spin for one.
        return min(max(due / 1000 - self._now(), SHORTEST_PAUSE), POLL_SECONDS)

    async def _deliver(self, mail: QueuedMail) -> None:
        try:
            await self._attempt(mail)
        except StoreError as error:
            _log.warning("mail %s is delayed until its claim ends: %s", mail.mail_id, error)
        except Exception as error:  # noqa: BLE001  # one message must not stop the others
            _log.error("mail %s is delayed until its claim ends", mail.mail_id, exc_info=error)
        finally:
            self._free.release()

    async def _attempt(self, mail: QueuedMail) -> None:
        if mail.expired_at(milliseconds(self._now())):
            _log.warning("mail %s (%s) has expired and was not sent", mail.mail_id, mail.kind)
            await self._store.write(outbox.settle(mail))
            return
        if self._transport is None or self._composer is None:
            await self._store.write(outbox.settle(mail))
            return
        message = await self._compose(mail, self._composer)
        if message is None:
            # Nothing is logged: the log must not reveal whether an address has an account.
            await self._store.write(outbox.settle(mail))
            return
        failure = await self._transport.send(message, mail.address)
        if failure is None:
            await self._mark_sent(mail)
            _log.info("mail %s (%s) was sent", mail.mail_id, mail.kind)
        elif failure.permanent:
            _log.error(
                "mail %s (%s) was refused for good: %s", mail.mail_id, mail.kind, failure.summary
            )
            await self._store.write(outbox.settle(mail))
        else:
            await self._postpone(mail, failure)

    async def _compose(self, mail: QueuedMail, composer: "Composer") -> EmailMessage | None:
        """Return the message; None when it must not be sent."""
        prepare = self._prepared.get(mail.kind, self._fixed_text)
        prepared = await prepare(mail, self._budget)
        if prepared is None:
            return None
        account, values = prepared
        return composer.message(mail.kind, account, mail_id=mail.mail_id, now=self._now(), **values)

    async def _fixed_text(
        self, mail: QueuedMail, _: Rate
    ) -> tuple[Account, Mapping[str, object]] | None:
        account = await self._store.read(outbox.open_recipient(mail))
        return None if account is None else (account, {})

    async def _mark_sent(self, mail: QueuedMail) -> None:
        """Delete a message that was sent; repeat it until the store is available again."""
        failures = 0
        while True:
            # Also during a stop: the message would be sent twice.
            with trio.move_on_after(MARK_SECONDS, shield=True), suppress(StoreError):
                await self._store.write(outbox.settle(mail))
                return
            await trio.sleep(OUTAGES.delay(failures, self._random))
            failures += 1

    async def _postpone(self, mail: QueuedMail, failure: SendFailure) -> None:
        pause = RETRIES.delay(mail.attempts - 1, self._random)
        due_at = milliseconds(self._now()) + int(pause * 1000)
        await self._store.write(outbox.postpone(mail, due_at))
        _log.warning(
            "mail %s (%s) was not sent: %s; attempt %d follows in %.0f seconds",
            mail.mail_id,
            mail.kind,
            failure.summary,
            mail.attempts + 1,
            pause,
        )
        # The pause may end before the next search.
        self.wake()
