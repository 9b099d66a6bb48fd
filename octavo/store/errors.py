"""What a database does instead of answering.

::

    StoreError
     ├ StoreUnavailable    it can't be reached, fails, or is too busy; it may recover
     │  └ StoreFull        it has no room
     ├ StoreUnusable       it can't be used as it is: somebody has to do something
     │  └ StoreOutdated    its schema is older than this version of Octavo
     ├ ConstraintViolated  a row would have broken a rule of the schema
     └ StatementInvalid    the script is mistaken
"""


class StoreError(Exception):
    """The database did not do what was asked.

    Attributes:
        outcome_unknown: True when a write may have been kept all the same, as a commit whose
            answer never came. False when nothing was.
    """

    def __init__(self, detail: str, *, outcome_unknown: bool = False) -> None:
        super().__init__(detail)
        self.outcome_unknown = outcome_unknown


class StoreUnavailable(StoreError):
    """The database can't be used now; the same call may succeed later."""


class StoreFull(StoreUnavailable):
    """The database has no room for more."""


class StoreUnusable(StoreError):
    """The database can't be opened; the text says what is wrong and what to do.

    The database is damaged, was made by a newer version of Octavo, or its migrations are others
    than those known here.
    """


class StoreOutdated(StoreUnusable):
    """The database has an older schema, and whoever opened it was not to change that."""


class ConstraintViolated(StoreError):
    """A statement would have broken a rule of the schema: unique, not null, a reference.

    The transaction is over, on every engine: a script may catch this to raise something that says
    more, and can't go on. One that expects a conflict writes ``ON CONFLICT DO NOTHING``.
    """


class StatementInvalid(StoreError):
    """A statement that this database can't execute: a mistake in the script, or in its arguments.

    So is a change in a script that was to read.
    """
