"""PostgreSQL: each script a serializable transaction; notices between processes."""

from octavo.store.postgres.listening import Gap, Messages
from octavo.store.postgres.store import PostgresStore, open_postgres

__all__ = ["Gap", "Messages", "PostgresStore", "open_postgres"]
