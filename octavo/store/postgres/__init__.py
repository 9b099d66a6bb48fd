"""PostgreSQL: each script a serializable transaction; notices between processes.

The names here are loaded on first access: an installation on SQLite needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.store.postgres.listening import Gap, Messages
    from octavo.store.postgres.store import PostgresStore, open_postgres

_MODULES = {
    "Gap": "listening",
    "Messages": "listening",
    "PostgresStore": "store",
    "open_postgres": "store",
}

__all__ = ["Gap", "Messages", "PostgresStore", "open_postgres"]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"octavo.store.postgres.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
