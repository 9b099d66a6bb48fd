"""Connections to a database file outside a data folder, or of a data folder without its server."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from octavo.store.sqlite.connection import BUSY_SECONDS
from octavo.store.sqlite.failures import failure


def connect_file(path: Path) -> sqlite3.Connection:
    """Open an existing database file, for any thread. Raises `octavo.store.StoreError`."""
    # A path that is not there must not become an empty database.
    address = f"file:{quote(str(path))}?mode=rw"
    try:
        connection = sqlite3.connect(
            address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise failure(error) from error
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection
