"""The database's file in the data folder."""

import os
from pathlib import Path

from octavo.store.errors import StoreUnusable

DATABASE = "octavo.sqlite3"


def prepare(folder: Path) -> Path:
    """Make the folder and the database's file if they aren't there; answer the file.

    Nobody but the user of this process may look into what is made here; SQLite gives the files
    that it makes beside the database the mode of that. Raises `StoreUnusable`.
    """
    database = folder / DATABASE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreUnusable(
            f"the data folder {folder} can't be used ({error.strerror}: {error.filename}): give the"
            " user that runs Octavo the right to write to it, or name another folder"
        ) from error
    return database
