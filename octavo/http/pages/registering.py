"""What the page of an invitation needs of the service."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from octavo.http.contract.problems import Header

Register = Callable[[Mapping[str, str], Sequence[Header], str | None], Awaitable[Header]]
"""Makes an account of the fields of a form, the headers and the client; returns the cookie.

Raises a `Problem`, whose ``errors`` point to fields.
"""


Opens = Callable[[str], Awaitable[bool]]
"""Returns whether an account may be made from an invitation. Raises `StoreUnavailable`."""


class Registering(NamedTuple):
    """What the page needs."""

    opens: Opens
    register: Register
