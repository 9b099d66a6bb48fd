"""What the invitation page requires of the service."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from octavo.http.contract.problems import Header
from octavo.model.accounts.consent import LegalDocuments

Register = Callable[[Mapping[str, str], Sequence[Header], str | None], Awaitable[Header]]
"""Creates an account from the fields of a form, the headers and the client; returns the cookie.

Raises a `Problem`, whose ``errors`` point to fields.
"""


Opens = Callable[[str], Awaitable[bool]]
"""Returns whether an account can be created with an invitation; empty for none.

Raises `StoreUnavailable`.
"""


class Registering(NamedTuple):
    """The functions that the page calls, and the documents that people must accept."""

    opens: Opens
    register: Register
    legal: LegalDocuments
