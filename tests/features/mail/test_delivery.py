"""Delivery from the outbox: what is sent, when, and how often."""

import logging
from collections.abc import Iterator
from email.message import EmailMessage
from typing import get_args

import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock

from octavo.features.accounts.password_reset import reset_messages
from octavo.features.accounts.rules.password import RESET_SECONDS
from octavo.features.mail import sql as outbox
from octavo.features.mail.composition import Composer
from octavo.features.mail.delivery import (
    AT_ONCE,
    CLAIM_SECONDS,
    POLL_SECONDS,
    RETRIES,
    MailDelivery,
)
from octavo.features.mail.rules import BUDGET_SECONDS, LIFETIME_SECONDS, MailKind, queued
from octavo.features.mail.settings import Sender
from octavo.features.mail.smtp import CANCEL_SECONDS, QUIT_SECONDS, SEND_SECONDS
from octavo.features.mail.transport import SendFailure
from octavo.model.access.account import Address
from octavo.model.access.rate import Rate
from tests.fakes.identity_fixture import START, IdentityFixture, identity_fixture

ANN = Address("ann@example.org")
LATER = SendFailure("recipient", code=450, detail=f"450 <{ANN}> later")
NEVER = SendFailure("recipient", permanent=True, code=550, detail=f"550 <{ANN}> never")


class ScriptedTransport:
    """Records what it sends, with the time, and fails as it is told.

    Attributes:
        results: of the next messages, after which they are accepted.
        held: how many messages are being sent.
        release: messages are accepted only when it is set; None for immediately.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[float, EmailMessage]] = []
        self.results: list[SendFailure | Exception | None] = []
        self.release: trio.Event | None = None
        self.held = 0

    async def send(self, message: EmailMessage, recipient: str) -> SendFailure | None:
        self.sent.append((trio.current_time(), message))
        if self.release is not None:
            self.held += 1
            await self.release.wait()
            self.held -= 1
        result = self.results.pop(0) if self.results else None
        if isinstance(result, Exception):
            raise result
        return result

    @property
    def times(self) -> list[float]:
        return [time for time, _ in self.sent]


class Mail:
    """Delivery of the outbox of an installation, at the time of the clock of trio."""

    def __init__(self, identity: IdentityFixture, per_address: int = 5) -> None:
        self.identity = identity
        self.transport = ScriptedTransport()
        self.stopping = trio.Event()
        self.delivery = self.another(per_address=per_address)

    def another(self, *, per_address: int = 5, configured: bool = True) -> MailDelivery:
        sources = self.identity.sources
        composer = Composer(Sender("", Address("notes@example.org")), "https://notes.example")
        delivery = MailDelivery(
            self.identity.store,
            composer if configured else None,
            self.transport if configured else None,
            budget=Rate(per_address, BUDGET_SECONDS),
            now=lambda: START + trio.current_time(),
            random=lambda: 0.5,
        )
        delivery.prepare(
            "password_reset",
            reset_messages(
                self.identity.store,
                "https://notes.example",
                now=lambda: START + trio.current_time(),
                new_token=sources.new_entropy,
            ),
        )
        return delivery

    async def add(self, kind: MailKind = "password_reset", address: str = ANN) -> str:
        now = int((START + trio.current_time()) * 1000)
        mail = queued(self.identity.sources.new_id(), kind, Address(address), now)
        await self.identity.store.write(outbox.add(mail))
        return mail.mail_id

    async def run(self, delivery: MailDelivery | None = None, *, alone: bool = True) -> None:
        await (delivery or self.delivery).run(self.stopping, alone=alone)

    async def waiting(self) -> int:
        return len(await self.identity.rows("SELECT id FROM outbox"))

    async def tokens(self) -> int:
        return len(await self.identity.rows("SELECT digest FROM password_resets"))


@pytest.fixture
def mail() -> Iterator[Mail]:
    with identity_fixture() as identity:
        yield Mail(identity)


def link_token(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert body is not None
    [line] = [each for each in body.get_content().splitlines() if "?token=" in each]
    return str(line.partition("?token=")[2])


async def test_message_is_sent_with_a_valid_token_and_deleted(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    mail_id = await mail.add()
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    [(_, message)] = mail.transport.sent
    assert (message["To"], message["Message-ID"]) == (ANN, f"<{mail_id}@example.org>")
    assert await mail.identity.password_reset.opens(link_token(message))
    assert "60 minutes" in str(message.get_body(("plain",)))
    assert await mail.waiting() == 0
    mail.identity.sources.time = START + RESET_SECONDS + 1
    assert not await mail.identity.password_reset.opens(link_token(message))


async def test_token_is_stored_nowhere(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    mail.transport.results = [LATER]
    await mail.add()
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    secret = link_token(mail.transport.sent[0][1])
    for table in ("outbox", "password_resets", "mail_budgets"):
        rows = await mail.identity.rows(f"SELECT * FROM {table}")
        assert rows
        assert secret not in repr(rows)


@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        ("password_changed", "Your password for notes.example was changed"),
        ("link_reported", "A published link at notes.example was reported"),
        ("link_taken_down", "A published link of yours at notes.example was taken down"),
    ],
)
async def test_notice_is_sent_without_a_token(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery, kind: MailKind, subject: str
) -> None:
    await mail.identity.account()
    await mail.add(kind)
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    [(_, message)] = mail.transport.sent
    assert message["Subject"] == subject
    assert (await mail.waiting(), await mail.tokens()) == (0, 0)


@pytest.mark.parametrize("kind", get_args(MailKind))
@pytest.mark.parametrize("state", [None, "disabled"])
async def test_message_without_an_open_account_is_deleted_and_not_sent(
    mail: Mail,
    autojump_clock: MockClock,
    nursery: trio.Nursery,
    kind: MailKind,
    state: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if state is not None:
        made = await mail.identity.account()
        await mail.identity.set_state(made.account.account_id, "disabled")
    await mail.add(kind)
    with caplog.at_level(logging.INFO):
        nursery.start_soon(mail.run)
        await trio.sleep(1)
    assert (await mail.waiting(), await mail.tokens(), mail.transport.sent) == (0, 0, [])
    assert caplog.records == []


async def test_locked_account_gets_its_message(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    made = await mail.identity.account()
    await mail.identity.set_state(made.account.account_id, "locked")
    await mail.add()
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    assert len(mail.transport.sent) == 1


async def test_messages_are_deleted_without_a_mail_server(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    await mail.add()
    nursery.start_soon(mail.run, mail.another(configured=False))
    await trio.sleep(1)
    assert (await mail.waiting(), await mail.tokens(), mail.transport.sent) == (0, 0, [])


async def test_added_message_is_sent_immediately_when_woken_and_otherwise_by_polling(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    await mail.add()
    mail.delivery.wake()
    await trio.lowlevel.checkpoint()
    await trio.sleep(1)
    await mail.add()
    await trio.sleep(POLL_SECONDS)
    first, second = mail.transport.times
    assert first == 1
    assert second == 1 + POLL_SECONDS


@pytest.mark.parametrize("idle", [0.0, 1.0, 1.75])
async def test_delayed_message_is_sent_when_it_is_due(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery, idle: float
) -> None:
    await mail.identity.account()
    nursery.start_soon(mail.run)
    await trio.sleep(idle)
    mail.identity.sources.time = START + trio.current_time()
    await mail.identity.password_reset.request(Address(ANN))
    mail.delivery.wake(*mail.identity.mail_delays)
    await trio.sleep(POLL_SECONDS)
    assert mail.transport.times == pytest.approx([idle + 1.75], abs=0.02)


async def test_message_that_is_due_sooner_does_not_wait_for_a_delayed_one(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    mail.delivery.wake(3.0)
    await mail.add("password_changed")
    mail.delivery.wake()
    mail.delivery.wake(2.0)
    await trio.sleep(POLL_SECONDS)
    assert mail.transport.times == [1]


async def test_temporary_failures_are_retried_with_growing_pauses(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    await mail.identity.account()
    mail_id = await mail.add()
    mail.transport.results = [LATER, LATER, LATER, LATER]
    nursery.start_soon(mail.run)
    await trio.sleep(1000)
    assert mail.transport.times == pytest.approx([0, 5, 20, 65, 200], abs=0.1)
    assert await mail.waiting() == 0
    # Each has its own token, and all are valid: any of them may have arrived.
    tokens = {link_token(message) for _, message in mail.transport.sent}
    assert len(tokens) == 5
    assert await mail.tokens() == 5
    assert {message["Message-ID"] for _, message in mail.transport.sent} == {
        f"<{mail_id}@example.org>"
    }
    assert f"mail {mail_id} (password_reset) was not sent: recipient (reply 450)" in caplog.text
    assert ANN not in caplog.text
    assert not any(token in caplog.text for token in tokens)


@pytest.mark.parametrize("random", [0.0, 0.25, 1.0])
def test_pauses_vary_so_that_messages_that_failed_together_spread(random: float) -> None:
    pauses = [RETRIES.delay(number, lambda: random) for number in range(9)]
    usual = [RETRIES.delay(number, lambda: 0.5) for number in range(9)]
    assert pauses == sorted(pauses)
    assert all(pause <= 780 for pause in pauses)
    assert pauses == pytest.approx([each * (0.7 + 0.6 * random) for each in usual])


async def test_permanent_refusal_is_given_up_and_logged_without_the_address(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    await mail.identity.account()
    mail_id = await mail.add()
    mail.transport.results = [NEVER]
    nursery.start_soon(mail.run)
    await trio.sleep(1000)
    assert (len(mail.transport.sent), await mail.waiting()) == (1, 0)
    assert f"mail {mail_id} (password_reset) was refused for good: recipient (reply 550)" in (
        caplog.text
    )
    assert ANN not in caplog.text


@pytest.mark.parametrize("kind", ["password_reset", "password_changed"])
async def test_message_that_cannot_be_sent_expires(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery, kind: MailKind
) -> None:
    await mail.identity.account()
    await mail.add(kind)
    mail.transport.results = [LATER] * 1000
    nursery.start_soon(mail.run)
    await trio.sleep(LIFETIME_SECONDS[kind] + RETRIES.maximum * (1 + RETRIES.jitter))
    assert await mail.waiting() == 0
    assert max(mail.transport.times) < LIFETIME_SECONDS[kind]


async def test_budget_limits_the_messages_to_one_address_and_refills(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    with identity_fixture() as identity:
        mail = Mail(identity, per_address=2)
        await identity.account()
        await identity.account("bob@example.org")
        for _ in range(4):
            await mail.add()
        await mail.add(address="bob@example.org")
        async with trio.open_nursery() as running:
            running.start_soon(mail.run)
            await trio.sleep(1)
            recipients = sorted(message["To"] for _, message in mail.transport.sent)
            assert recipients == [ANN, ANN, "bob@example.org"]
            assert await mail.waiting() == 0
            # The notice must arrive, whatever others requested.
            await mail.add("password_changed")
            mail.delivery.wake()
            await trio.sleep(1)
            assert len(mail.transport.sent) == 4
            await trio.sleep(BUDGET_SECONDS / 2)
            await mail.add()
            mail.delivery.wake()
            await trio.sleep(1)
            assert len(mail.transport.sent) == 5
            running.cancel_scope.cancel()


async def test_retries_count_against_the_budget_once(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    with identity_fixture() as identity:
        mail = Mail(identity, per_address=1)
        await identity.account()
        await mail.add()
        mail.transport.results = [LATER, LATER]
        async with trio.open_nursery() as running:
            running.start_soon(mail.run)
            await trio.sleep(100)
            running.cancel_scope.cancel()
        assert len(mail.transport.sent) == 3


async def test_two_processes_do_not_send_one_message_twice(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    mail.transport.release = trio.Event()
    for _ in range(3):
        await mail.add()
    nursery.start_soon(lambda: mail.run(alone=False))
    nursery.start_soon(lambda: mail.run(mail.another(), alone=False))
    await trio.sleep(SEND_SECONDS)
    assert len(mail.transport.sent) == 3
    mail.transport.release.set()
    await trio.sleep(CLAIM_SECONDS * 2)
    assert (len(mail.transport.sent), await mail.waiting()) == (3, 0)


def test_claim_outlasts_every_exchange() -> None:
    assert SEND_SECONDS + QUIT_SECONDS + CANCEL_SECONDS < CLAIM_SECONDS / 2


async def test_message_of_a_dead_process_is_sent_when_its_claim_ends(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    await mail.add()
    await claim(mail)
    nursery.start_soon(lambda: mail.run(alone=False))
    await trio.sleep(CLAIM_SECONDS + POLL_SECONDS)
    [time] = mail.transport.times
    assert CLAIM_SECONDS <= time <= CLAIM_SECONDS + POLL_SECONDS


async def test_message_of_an_earlier_process_is_sent_at_the_start_without_others(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    await mail.add()
    await claim(mail)
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    assert mail.transport.times == [0]


async def test_start_without_others_does_not_hasten_a_delayed_message(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    await mail.identity.password_reset.request(Address(ANN))
    nursery.start_soon(mail.run)
    await trio.sleep(5)
    assert mail.transport.times == pytest.approx([1.75], abs=0.02)


async def claim(mail: Mail) -> None:
    """Claim a message, as a process that dies then."""
    now = int(START * 1000)
    assert await mail.identity.store.write(outbox.claim(now, now + int(CLAIM_SECONDS * 1000)))


async def test_process_whose_claim_ended_changes_nothing(
    mail: Mail, autojump_clock: MockClock
) -> None:
    await mail.add()
    store, now = mail.identity.store, int(START * 1000)
    first = await store.write(outbox.claim(now, now + 1))
    second = await store.write(outbox.claim(now + 1, now + 10))
    assert first is not None
    assert second is not None
    assert not await store.write(outbox.settle(first))
    assert not await store.write(outbox.postpone(first, now))
    assert await store.read(outbox.open_recipient(first)) is None
    assert await store.write(outbox.settle(second))


async def test_few_messages_are_sent_at_the_same_time(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    mail.transport.release = trio.Event()
    for _ in range(AT_ONCE + 1):
        await mail.add("password_changed")
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    assert (mail.transport.held, len(mail.transport.sent)) == (AT_ONCE, AT_ONCE)
    mail.transport.release.set()
    await trio.sleep(1)
    assert len(mail.transport.sent) == AT_ONCE + 1


async def test_sent_message_is_marked_when_the_store_returns_and_sent_once(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    mail.transport.release = trio.Event()
    await mail.add()
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    mail.identity.store.away = True
    mail.transport.release.set()
    await trio.sleep(CLAIM_SECONDS * 3)
    mail.identity.store.away = False
    await trio.sleep(CLAIM_SECONDS)
    assert (len(mail.transport.sent), await mail.waiting()) == (1, 0)


async def test_delivery_survives_an_outage_of_the_store(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    await mail.add()
    mail.identity.store.away = True
    nursery.start_soon(mail.run)
    await trio.sleep(300)
    mail.identity.store.away = False
    await trio.sleep(100)
    assert (len(mail.transport.sent), await mail.waiting()) == (1, 0)


async def test_failure_while_a_message_is_composed_delays_it_until_its_claim_ends(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    await mail.identity.account()
    await mail.add()

    async def fail_the_next_but_one() -> None:
        mail.identity.store.before_write = fail_next

    async def fail_next() -> None:
        mail.identity.store.failures = 1

    # Writes: the end of earlier claims, the claim, the token.
    mail.identity.store.before_write = fail_the_next_but_one
    nursery.start_soon(mail.run)
    await trio.sleep(CLAIM_SECONDS * 2)
    assert (len(mail.transport.sent), await mail.waiting()) == (1, 0)


async def test_bug_in_one_message_does_not_stop_the_others(
    mail: Mail, autojump_clock: MockClock, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    await mail.identity.account()
    mail.transport.results = [RuntimeError("a bug")]
    mail_id = await mail.add("password_changed")
    await mail.add("password_changed")
    nursery.start_soon(mail.run)
    await trio.sleep(1)
    assert (len(mail.transport.sent), await mail.waiting()) == (2, 1)
    assert f"mail {mail_id} is delayed until its claim ends" in caplog.text
    await trio.sleep(CLAIM_SECONDS + POLL_SECONDS)
    assert (len(mail.transport.sent), await mail.waiting()) == (3, 0)


async def test_stop_lets_a_message_that_is_being_sent_finish(
    mail: Mail, autojump_clock: MockClock
) -> None:
    await mail.identity.account()
    mail.transport.release = trio.Event()
    await mail.add("password_changed")
    async with trio.open_nursery() as running:
        running.start_soon(mail.run)
        await trio.sleep(1)
        mail.stopping.set()
        await mail.add("password_changed")
        mail.delivery.wake()
        await trio.sleep(1)
        assert len(mail.transport.sent) == 1
        mail.transport.release.set()
    assert await mail.waiting() == 1


async def test_accepted_message_is_marked_though_the_delivery_is_cancelled(
    mail: Mail, autojump_clock: MockClock
) -> None:
    await mail.identity.account()
    await mail.add("password_changed")
    async with trio.open_nursery() as running:

        async def send(message: EmailMessage, recipient: str) -> SendFailure | None:
            running.cancel_scope.cancel()
            return None

        mail.transport.send = send  # type: ignore[method-assign]
        running.start_soon(mail.run)
    assert await mail.waiting() == 0
