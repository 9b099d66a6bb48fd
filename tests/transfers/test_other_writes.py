"""What counts as writes of others."""

import trio

from octavo.model.identity import WorkspaceId
from octavo.transfers.other_writes import SECONDS, OtherWrites

OURS, THEIRS = WorkspaceId("ours"), WorkspaceId("theirs")


async def test_own_writes_do_not_count(autojump_clock: trio.abc.Clock) -> None:
    writes = OtherWrites()
    assert not writes.besides(OURS)
    writes.wrote(OURS)
    assert not writes.besides(OURS)
    assert writes.besides(THEIRS)


async def test_write_counts_for_some_seconds(autojump_clock: trio.abc.Clock) -> None:
    writes = OtherWrites()
    writes.wrote(THEIRS)
    await trio.sleep(SECONDS - 1)
    writes.wrote(OURS)
    assert writes.besides(OURS)
    await trio.sleep(1)
    assert not writes.besides(OURS)
    # The older one is forgotten, and counts again when it is written to.
    writes.wrote(THEIRS)
    assert writes.besides(OURS)
    assert writes.besides(THEIRS)
