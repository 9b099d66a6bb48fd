"""The database: transaction scripts, and the engines that run them.

Scripts are written once. What differs between SQLite and PostgreSQL is in their engines.
"""

from octavo.store.errors import (
    ConstraintViolated,
    IndexDamaged,
    StatementInvalid,
    StoreError,
    StoreFull,
    StoreOutdated,
    StoreUnavailable,
    StoreUnusable,
    TextDamaged,
)
from octavo.store.transaction import Row, Script, Store, Transaction, Value
