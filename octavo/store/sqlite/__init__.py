"""SQLite: one file, one writing thread, and batches of writes. Without threads for tests."""

from octavo.store.sqlite.connection import DATABASE
from octavo.store.sqlite.inline import InlineStore
from octavo.store.sqlite.store import SqliteStore, open_sqlite

__all__ = ["DATABASE", "InlineStore", "SqliteStore", "open_sqlite"]
