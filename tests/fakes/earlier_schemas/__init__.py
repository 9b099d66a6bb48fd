"""The schemas of earlier versions that are taken over, in the text of their time.

The migrations up to version 7 are one file for each engine, without comments.
"""

from pathlib import Path

from octavo.store.migrations import Engine, Migration

VERSIONS = (8, 9, 10)


def earlier(engine: Engine, version: int) -> tuple[Migration, ...]:
    """Return the migrations that make a database of an earlier version."""
    paths = sorted(
        path
        for path in Path(__file__).parent.glob("*.sql")
        if path.suffixes in ([".sql"], [f".{engine}", ".sql"])
    )
    found = (
        Migration(int(path.name[:4]), path.name.partition(".")[0][5:], path.read_text())
        for path in paths
    )
    return tuple(migration for migration in found if migration.version <= version)
