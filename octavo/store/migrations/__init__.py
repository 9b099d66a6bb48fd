"""Migrations of the schema, forward only.

Each is a file ``NNNN_name.sql`` in this package, numbered from 1 without gaps. A database records
those that it has, with the digest of the text that was executed; so a file never changes once it
is released. A migration is written in the common subset of the engines, or has a file for each
engine, ``NNNN_name.sqlite.sql`` and ``NNNN_name.postgres.sql``.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal

from octavo.store.errors import StoreUnusable

MIGRATED = "the schema of the database has been migrated from version %d to %d"

# Created by both engines, before the first migration.
RECORD = """
CREATE TABLE IF NOT EXISTS migrations (
    version BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL
)
"""
APPLIED = "SELECT version, digest FROM migrations"
NEWEST = "SELECT COALESCE(MAX(version), 0) FROM migrations"
RECORD_ONE = "INSERT INTO migrations (version, name, digest) VALUES ($1, $2, $3)"

Engine = Literal["sqlite", "postgres"]

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)(?:\.(sqlite|postgres))?\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration. ``sql`` contains statements, each terminated by a semicolon."""

    version: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the text, in hexadecimal."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def shipped(engine: Engine = "sqlite", folder: Traversable | None = None) -> tuple[Migration, ...]:
    """Return the migrations of this version of Octavo, in order; each engine has as many.

    They are read from ``folder``, or from this package.
    """
    found = []
    for resource in (files(__name__) if folder is None else folder).iterdir():
        named = _FILE.fullmatch(resource.name)
        if named is not None and named[3] in (None, engine):
            found.append(Migration(int(named[1]), named[2], resource.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.version))


def pending(known: Sequence[Migration], applied: Mapping[int, str]) -> Sequence[Migration]:
    """Return the migrations that a database lacks, in order.

    Args:
        known: all migrations of this version of Octavo, in order.
        applied: the digests of those that were applied to the database, by version.

    Raises:
        StoreUnusable: the database has migrations of a newer version, or one with another text.
    """
    newest = max(applied, default=0)
    if newest > len(known):
        raise StoreUnusable(
            f"the database has version {newest} of the schema, and this version of Octavo knows"
            f" {len(known)}: start the version of Octavo that made it, or a newer one"
        )
    for migration in known[:newest]:
        digest = applied.get(migration.version)
        if digest != migration.digest:
            state = "is missing from" if digest is None else "differs from the one in"
            raise StoreUnusable(
                f"migration {migration.version} ({migration.name}) {state} the database: install"
                " the released version of Octavo again, or restore the database from a backup"
            )
    return known[newest:]
