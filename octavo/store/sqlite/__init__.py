"""SQLite: one file, a thread that writes, batches of writes; also inline, for tests."""

from octavo.store.sqlite.folder import DATABASE
from octavo.store.sqlite.inline import InlineStore, open_inline
from octavo.store.sqlite.store import SqliteStore, open_sqlite

__all__ = ["DATABASE", "InlineStore", "SqliteStore", "open_inline", "open_sqlite"]
