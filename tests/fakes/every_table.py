"""The tables of the schema, and rows for all of them that refer to each other."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from uuid import UUID

from octavo.features.links.sql.link_index import packed
from octavo.model.usage import month_of
from octavo.store import Transaction, Value
from octavo.store.compression import compressed
from octavo.store.migrations import Engine, Migration, shipped
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.migrating import migrate
from octavo.store.transaction import NewNote

# What columns refer to that have no foreign key; None for nothing, though others of the name do.
_REFERENCES = {
    "account_id": "accounts.id",
    "actor_id": "accounts.id",
    "address": "accounts.address",
    "author_id": "accounts.id",
    "blob": "blobs.key",
    "content": "contents.pk",
    "content_revision_id": "revisions.revision_id",
    "continuer_id": "accounts.id",
    "created_by_id": "accounts.id",
    "file": "files.pk",
    "file_id": "files.file_id",
    "mutation_id": "receipts.mutation_id",
    "program": "oauth_programs.pk",
    "subject_id": "accounts.id",
    "workspace": "workspaces.pk",
    "workspace_id": "workspaces.id",
    "accounts.address": None,
    "files.file_id": None,
    "images.pk": "contents.pk",
    "index_cursors.file": None,
    "oauth_programs.client": "oauth_clients.id",
    "import_parts.blob": None,
    "receipts.mutation_id": None,
    "thumbnails.image": "blobs.key",
    "uploads.blob": None,
}
# What belongs to what refers to it: texts and images to their files, workspaces to their owners.
_OWNED = {"contents": "files", "blobs": "images", "workspaces": "members"}
# What statements depend on.
_GIVEN: Mapping[str, Value] = {
    "accounts.role": "member",
    "accounts.state": "enabled",
    "audit.actor": None,
    "audit.detail": "",
    "audit.kind": "sign_in",
    "audit.outcome": "done",
    "blobs.check_at": None,
    "files.kind": "note",
    "files.origin": "device",
    "files.state": "deleted",
    # The engine gives these keys.
    "fulltext_beginnings.pk": None,
    "fulltext_notes.pk": None,
    "fulltext_beginnings.portions": 0,
    "fulltext_notes.path": None,
    "fulltext_notes.portions": 0,
    "installation.registration_policy": "invitation",
    "invitations.used_at": None,
    "members.role": "owner",
    "restorations.state": "done",
    "revisions.content_revision_id": None,
    "revisions.origin": "device",
    "revisions.state": "live",
}
_OF_ONE_ROW = ("fulltext_erasure", "installation")
"""Tables whose row the migrations insert."""
QUEUES = (
    *("audit_erasures", "deleted_blobs", "deleted_workspaces"),
    *("fulltext_removals", "purged_contents"),
)
"""Tables of what is still to be removed."""
_TABLES = """
    SELECT name FROM sqlite_schema WHERE name IN (
        SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
    ) AND name NOT LIKE 'sqlite_%' AND name NOT IN ('migrations', 'search_numbers')
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        kind: its type on SQLite.
        foreign_key: the column that it refers to, such as ``accounts.id``.
    """

    table: str
    name: str
    kind: str
    required: bool
    is_key: bool
    foreign_key: str | None

    @property
    def of(self) -> str | None:
        """What it refers to, by a foreign key or its name."""
        return self.foreign_key or _REFERENCES.get(str(self), _REFERENCES.get(self.name))

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"


def tables_of(migrations: Sequence[Migration]) -> dict[str, list[Column]]:
    """Return the columns of the tables that migrations of SQLite make, by table.

    Those of the full text index are left out. A table follows those that it refers to.
    """
    with closing(connect(None)) as connection:
        migrate(connection, migrations)
        names = [row[0] for row in connection.execute(_TABLES)]
        return {name: _columns(connection, name) for name in names}


def _columns(connection: sqlite3.Connection, table: str) -> list[Column]:
    keys = {
        row[3]: f"{row[2]}.{row[4]}"
        for row in connection.execute(f"PRAGMA foreign_key_list({table})")
    }
    return [
        Column(table, name, kind, bool(required), bool(key), keys.get(name))
        for _, name, kind, required, _, key in connection.execute(f"PRAGMA table_info({table})")
    ]


@cache
def tables() -> dict[str, list[Column]]:
    """Return those of the newest version."""
    return tables_of(shipped())


@cache
def _by_name() -> dict[str, Column]:
    return {str(column): column for columns in tables().values() for column in columns}


@cache
def owners(table: str, besides: tuple[str, ...] = ()) -> frozenset[str]:
    """Return the tables whose rows those of a table belong to, with the table itself.

    To whom those of the tables ``besides`` belong is left out.
    """
    found: set[str] = set()
    left = [table]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            if name not in besides:
                left += [each.of.partition(".")[0] for each in tables()[name] if each.of]
                left += [_OWNED[name]] if name in _OWNED else []
    return frozenset(found)


def is_identifier(column: str) -> bool:
    return column == "id" or column.endswith("_id")


@dataclass(frozen=True, slots=True)
class World:
    """An account with a workspace, a file in it, and a row in every other table but `QUEUES`.

    Attributes:
        name: letters.
        time: all times in it, in milliseconds.
        sparse: whether about half of the columns are NULL that may be.
    """

    name: str
    time: int
    sparse: bool = False

    def row(self, table: str) -> dict[str, Value]:
        """Return its row in a table."""
        return {each.name: self._value(each) for each in tables()[table]}

    def value(self, name: str) -> Value:
        """Return the value of a column, such as ``accounts.id``."""
        return self._value(_by_name()[name])

    def id(self, name: str) -> str:
        """Return the value of a column that is an identifier."""
        return str(self.value(name))

    @property
    def text(self) -> str:
        """The text of the note: a word."""
        return f"text{self.name}"

    def marks(self, table: str) -> dict[str, str | bytes | int]:
        """Return the values by which the row of a table is recognised, by column.

        They are nowhere else, unless something refers to the row.
        """
        found: dict[str, str | bytes | int] = {}
        if table == "contents":
            found["contents.compressed"] = self.text
        for column in tables()[table]:
            mark = self._made_up(column)
            if mark == self._value(column) and mark is not None:
                found[str(column)] = mark
        return found

    def _value(self, column: Column) -> Value:
        name = str(column)
        if name in _GIVEN:
            return _GIVEN[name]
        if (
            self.sparse
            and not column.required
            and not column.is_key
            and self._digest(column)[0] % 2
        ):
            return None
        if column.of is not None:
            return self.value(column.of)
        match name:
            case "api_keys.workspaces" | "oauth_grants.workspaces":
                return self.value("workspaces.id")
            case "contents.compressed":
                return compressed(self.text)
            case "link_index.targets" | "link_index.sources":
                return packed([int(self.id(f"link_{column.name}.key"))])
        if column.name == "month":
            return month_of(self.time / 1000)
        made_up = self._made_up(column)
        is_time = column.name == "at" or column.name.endswith(("_at", "_until"))
        return made_up if made_up is not None else self.time if is_time else 1

    def _made_up(self, column: Column) -> str | bytes | int | None:
        """Return the value of a column that means nothing; None for a time or an amount."""
        digest = self._digest(column)
        if is_identifier(column.name):
            return str(UUID(bytes=digest[:16]))
        match column.kind:
            case "TEXT":
                return self._word(column)
            case "BLOB":
                return digest
        return int.from_bytes(digest[:5], "big") if column.is_key else None

    def _word(self, column: Column) -> str:
        return re.sub("[._]", "", str(column)) + self.name

    def _digest(self, column: Column) -> bytes:
        return sha256(self._word(column).encode()).digest()


async def fill(transaction: Transaction, world: World, engine: Engine) -> None:
    """Insert the rows of a world, and the words of its note."""
    # Also the keys that the engine gives otherwise.
    own_keys = "OVERRIDING SYSTEM VALUE" if engine == "postgres" else ""
    for table in tables():
        if table in (*_OF_ONE_ROW, *QUEUES):
            continue
        row = world.row(table)
        if table == "fulltext_notes":
            note = NewNote(str(world.value("files.path")), world.text)
            [row["pk"]] = await transaction.put_words(world.id("workspaces.id"), [note])
        elif table == "fulltext_beginnings":
            row["pk"] = await transaction.new_words()
        places = ", ".join(
            f"${at}{'::uuid' if is_identifier(name) else ''}" for at, name in enumerate(row, 1)
        )
        await transaction.execute(
            f"INSERT INTO {table} ({', '.join(row)}) {own_keys} VALUES ({places})"
            # The tables by month.
            " ON CONFLICT DO NOTHING",
            *row.values(),
        )
