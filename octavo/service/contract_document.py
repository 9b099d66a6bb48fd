"""The API document as an operation."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import ClassVar

from octavo.http.contract.call import Call
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.reply import Stream

_PIECE = 16_384
_MEDIA_TYPE = "application/json"


class ContractOperations:
    """The API document.

    Args:
        document: returns the document of `octavo.http.contract.openapi.document`; it is encoded
            once.
    """

    PATH: ClassVar[str] = "/api/openapi.json"

    def __init__(self, document: Callable[[], Awaitable[Mapping[str, object]]]) -> None:
        self._document = document
        self._pieces: tuple[bytes, ...] = ()
        self._length = 0

    @operation(
        id="getContract",
        method="GET",
        path=PATH,
        tag="service",
        summary="Get the OpenAPI document of this server",
        security=Security.NONE,
        media_types=(_MEDIA_TYPE,),
    )
    async def get_contract(self, call: Call) -> Stream:
        """Return the document."""
        document = await self._document()
        if not self._pieces:
            content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
            starts = range(0, len(content), _PIECE)
            self._pieces = tuple(content[start : start + _PIECE] for start in starts)
            self._length = len(content)
        return Stream(_each(self._pieces), _MEDIA_TYPE, self._length)


async def _each(pieces: tuple[bytes, ...]) -> AsyncIterator[bytes]:
    # In pieces that all readers share: sent as a whole, the bytes would count against the memory of
    # each.
    for piece in pieces:
        yield piece
