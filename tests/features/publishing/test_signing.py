"""Keys are replaced, known by every process, and not made up."""

from collections.abc import AsyncIterator
from contextlib import closing
from itertools import count

import pytest
import trio

from octavo.features.publishing.rules import ReportId
from octavo.features.publishing.signing import ROTATION_SECONDS, ReportAddresses, Tickets
from octavo.store import Store
from octavo.store.queries.signing_keys import keys_of
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.stores import open_inline
from tests.features.publishing.test_rules_ticket import LINK

_secrets = count(1)


class Time:
    """A clock."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    inline = open_inline()
    with closing(inline):
        yield FaultyStore(inline)


@pytest.fixture
def time() -> Time:
    return Time()


def new_secret() -> bytes:
    return next(_secrets).to_bytes(32)


def tickets(store: Store, time: Time) -> Tickets:
    return Tickets(store, now=time, new_secret=new_secret)


async def test_ticket_of_one_process_is_known_to_another(store: Store, time: Time) -> None:
    ticket = await tickets(store, time).issue(LINK)
    assert await tickets(store, time).verify(ticket, LINK)


async def test_processes_share_a_key(store: Store, time: Time) -> None:
    first, second = tickets(store, time), tickets(store, time)
    async with trio.open_nursery() as nursery:
        for each in (first, second):
            nursery.start_soon(each.issue, LINK)
    assert len(await store.read(keys_of("ticket"))) == 1


async def test_key_is_replaced_after_a_day_and_forgotten_after_its_tickets(
    store: Store, time: Time
) -> None:
    made = tickets(store, time)
    for _ in range(6):
        ticket = await made.issue(LINK)
        assert await made.verify(ticket, LINK)
        time.now += ROTATION_SECONDS + 1
    kept = await store.read(keys_of("ticket"))
    assert [each.number for each in kept] == [6, 5, 4]
    assert len({each.secret for each in kept}) == 3


async def test_invented_keys_cause_few_looks(store: Store, time: Time) -> None:
    made = tickets(store, time)
    ticket = await made.issue(LINK)
    invented = "A" * len(ticket)
    assert isinstance(store, FaultyStore)
    before = store.reads
    for _ in range(50):
        assert not await made.verify(invented, LINK)
    assert store.reads <= before + 1
    assert await made.verify(ticket, LINK)


async def test_address_of_a_report_is_the_same_for_every_process(store: Store, time: Time) -> None:
    report_id = ReportId("019caf07-2b11-7d42-8e6f-35c9a0d1b784")
    first, second = (ReportAddresses(store, now=time, new_secret=new_secret) for _ in range(2))
    token = await first.token(report_id)
    assert token == await second.token(report_id)
    assert len(token) == 32
    assert token != await first.token(ReportId("019caf07-2b11-7d42-8e6f-35c9a0d1b785"))
    assert token != await _elsewhere(report_id, time)


async def _elsewhere(report_id: ReportId, time: Time) -> str:
    """The token of the same report in another installation."""
    inline = open_inline()
    with closing(inline):
        return await ReportAddresses(inline, now=time, new_secret=new_secret).token(report_id)
