"""Migrations of the schema, forward only.

Each is a file ``NNNN_name.sql`` in this package. Types and phrases that differ between the engines
have names in braces (`rendered`). What only one engine needs follows in ``NNNN_name.sqlite.sql`` or
``NNNN_name.postgres.sql``. The first migration is the baseline, which makes the whole schema.

A database of a version before the baseline is taken over instead: the migration consists of the
files ``from_N.sql`` from that version on.

A database records the migrations that it has, with the digest of the text that was executed; so a
file never changes once it is released.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Literal
from uuid import UUID

from octavo.store.errors import StoreUnusable

MIGRATED = "the schema of the database has been migrated from version %d to %d"

# Created by both engines, before the first migration.
RECORD = """
CREATE TABLE IF NOT EXISTS migrations (
    version BIGINT NOT NULL PRIMARY KEY,
    name {text} NOT NULL,
    digest {text} NOT NULL
)
"""
APPLIED = "SELECT version, digest FROM migrations"
NEWEST = "SELECT COALESCE(MAX(version), 0) FROM migrations"
RECORD_ONE = "INSERT INTO migrations (version, name, digest) VALUES ($1, $2, $3)"

Engine = Literal["sqlite", "postgres"]

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_PHRASES: Mapping[Engine, Mapping[str, str]] = {
    "sqlite": {
        "int": "INTEGER",
        "text": "TEXT",
        "bytes": "BLOB",
        "uuid": "BLOB",
        "nil": f"x'{bytes(16).hex()}'",
        "generated_key": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "strict": " STRICT",
        "strict_by_key": " STRICT, WITHOUT ROWID",
    },
    "postgres": {
        "int": "BIGINT",
        # Sorts by bytes, as on SQLite.
        "text": 'TEXT COLLATE "C"',
        "bytes": "BYTEA",
        "uuid": "UUID",
        "nil": f"'{UUID(int=0)}'",
        "generated_key": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "strict": "",
        "strict_by_key": "",
    },
}

_EARLIER = {
    8: {
        "388c1c337deee672c8041fb735c4eadd510d9f3596616769113090aff4f5e02d",
        # The comment had another word.
        "9e2599a159fa875edc89c4ae82c520e28571d4e9f7fd6877e493a3e021db5e17",
    },
    9: {
        "f2604f262610276152aafd7dc4cdd57c2473c72831aec3d7d440b01bf3fc450d",
        "612aed6f72ace0acc53861a1de62cf34139a77ab108b012934bcfd69ec525300",
    },
    10: {
        "8f5aa9e59e8691e7eece678e6cf9ce097561bdd0eb1b72483bcadeeb59cf56f3",
        "c5761214728210de3bf18a754bd0599544c131a8e934ee51a8a581649b2d8a1a",
    },
}
"""The digests of the migrations of versions that are taken over, on both engines."""
_UPGRADING_COMMIT = "fdf0972ab258"
"""The last commit whose program migrates databases of all versions before the baseline."""


def rendered(sql: str, engine: Engine) -> str:
    """Return DDL with the types and phrases of an engine instead of their names in braces."""
    return sql.format_map(_PHRASES[engine])


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration. ``sql`` contains statements, each terminated by a semicolon.

    ``takes_over`` has the text that is executed instead in a database of an earlier version.
    """

    version: int
    name: str
    sql: str
    takes_over: Mapping[int, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the text, in hexadecimal."""
        return _digest(self.sql)


def _digest(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()


def shipped(engine: Engine = "sqlite") -> tuple[Migration, ...]:
    """Return the migrations of this version of Octavo, in order; each engine has as many."""
    texts = {
        resource.name: rendered(resource.read_text("utf-8"), engine)
        for resource in files(__name__).iterdir()
        if resource.name.endswith(".sql")
    }

    def text_of(name: str) -> str:
        return texts[f"{name}.sql"] + texts.get(f"{name}.{engine}.sql", "")

    baseline, *later = (
        Migration(int(named[1]), named[2], text_of(named[0].removesuffix(".sql")))
        for named in map(_FILE.fullmatch, sorted(texts))
        if named is not None
    )
    takes_over = {
        version: "".join(text_of(f"from_{step}") for step in range(version, baseline.version))
        for version in _EARLIER
    }
    return replace(baseline, takes_over=takes_over), *later


def pending(known: Sequence[Migration], applied: Mapping[int, str]) -> Sequence[Migration]:
    """Return the migrations that a database lacks, in order.

    Args:
        known: all migrations of this version of Octavo, in order.
        applied: the digests of those that were applied to the database, by version.

    Raises:
        StoreUnusable: the database has migrations of a newer version, or one with another text, or
            is too old to be taken over.
    """
    newest, baseline = max(applied, default=0), known[0]
    if newest > known[-1].version:
        raise StoreUnusable(
            f"the database has version {newest} of the schema, and this version of Octavo knows"
            f" {known[-1].version}: start the version of Octavo that made it, or a newer one"
        )
    if not 0 < newest < baseline.version:
        expected = {
            migration.version: {migration.digest, *map(_digest, migration.takes_over.values())}
            for migration in known
            if migration.version <= newest
        }
        missing = [migration for migration in known if migration.version > newest]
    elif newest in baseline.takes_over:
        expected = {version: _EARLIER[version] for version in _EARLIER if version <= newest}
        missing = [replace(baseline, sql=baseline.takes_over[newest]), *known[1:]]
    else:
        raise StoreUnusable(
            f"the database has version {newest} of the schema, which is too old: start Octavo once"
            f" from commit {_UPGRADING_COMMIT} of its repository, which migrates the database to"
            f" version {max(_EARLIER)}, then start this version again"
        )
    for version, digests in expected.items():
        if applied.get(version) not in digests:
            state = "differs from the one in" if version in applied else "is missing from"
            raise StoreUnusable(
                f"migration {version} {state} the database: install the released version of Octavo"
                " again, or restore the database from a backup"
            )
    return missing
