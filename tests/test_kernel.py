"""What the service gives to its features."""

import trio
from greenroom import Supervisor
from trio.testing import wait_all_tasks_blocked

from octavo.kernel import FLUSH_SECONDS, worker


async def test_worker_writes_what_it_has_collected_before_the_service_stops(
    autojump_clock: trio.abc.Clock,
) -> None:
    written = False

    async def write() -> None:
        nonlocal written
        await trio.sleep(FLUSH_SECONDS / 2)
        written = True

    root = Supervisor("root")
    root.add(worker("collector", trio.sleep_forever, write))
    async with root.running():
        await wait_all_tasks_blocked()
        assert not written
    assert written
