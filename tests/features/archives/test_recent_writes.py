"""What counts as writes of others."""

import trio
from octavo_rules.identity import WorkspaceId

from octavo.features.archives.job import SECONDS, RecentWrites

IMPORTED, ANOTHER = WorkspaceId("imported"), WorkspaceId("another")


async def test_write_is_recent_for_some_seconds(autojump_clock: trio.abc.Clock) -> None:
    writes = RecentWrites()
    assert not writes.recent()
    writes.committed(ANOTHER)
    await trio.sleep(SECONDS / 2)
    assert writes.recent()
    await trio.sleep(SECONDS / 2)
    assert not writes.recent()
    writes.wrote()
    assert writes.recent()


async def test_commits_of_imports_do_not_count(autojump_clock: trio.abc.Clock) -> None:
    writes = RecentWrites()
    with writes.importing(IMPORTED):
        with writes.importing(IMPORTED):
            writes.committed(IMPORTED)
        writes.committed(IMPORTED)
        assert not writes.recent()
        writes.committed(ANOTHER)
        assert writes.recent()
    await trio.sleep(SECONDS)
    writes.committed(IMPORTED)
    assert writes.recent()
