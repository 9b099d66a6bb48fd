"""The errors of the database.

::

    StoreError
     ├ StoreUnavailable    it can't be reached, failed, or is too busy; it may recover
     │  ├ StoreFull        it is out of space
     │  ├ TextDamaged      a stored text can't be read
     │  └ IndexDamaged     the full text index can't be used until it is made anew
     ├ StoreUnusable       it can't be opened until an administrator has acted
     │  └ StoreOutdated    its schema is older than this version of Octavo
     ├ ConstraintViolated  a row would have broken a rule of the schema
     └ StatementInvalid    the script has a bug
"""


class StoreError(Exception):
    """The database failed.

    Attributes:
        outcome_unknown: True when a write may have been committed, for example when the
            connection was lost during COMMIT. False when nothing was committed.
    """

    def __init__(self, detail: str, *, outcome_unknown: bool = False) -> None:
        super().__init__(detail)
        self.outcome_unknown = outcome_unknown


class StoreUnavailable(StoreError):
    """The database can't be used now. The same call may succeed later."""


class StoreFull(StoreUnavailable):
    """The database is out of space."""


class TextDamaged(StoreUnavailable):
    """A stored text can't be read, and no other call can read it; the rest of the store can be.

    Attributes:
        file_id: of a file with the text.
    """

    def __init__(self, file_id: str, detail: str) -> None:
        super().__init__(f"the text of the file {file_id} is damaged: {detail}")
        self.file_id = file_id


class IndexDamaged(StoreUnavailable):
    """The full text index can't be used; everything else can.

    It holds nothing that the texts don't: `fulltext_index.renew_words` makes
    it anew.
    """


class StoreUnusable(StoreError):
    """The database can't be opened. The message says what is wrong and what to do.

    The database is damaged, was written by a newer version of Octavo, or has other migrations
    than this version.
    """


class StoreOutdated(StoreUnusable):
    """The database has an older schema, and was opened without permission to migrate it."""


class ConstraintViolated(StoreError):
    """A statement would have violated a constraint: unique, not null, or a foreign key.

    The transaction is over, on every engine. A script may catch this to raise a more specific
    error, and can't continue. One that expects a conflict uses ``ON CONFLICT DO NOTHING``.
    """


class StatementInvalid(StoreError):
    """A statement that this database can't execute: a mistake in the script, or in its arguments.

    A statement that changes something in a script that may only read is one, too.
    """
