"""The API document as an operation."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import ClassVar

from octavo.http.contract.call import Call
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.reply import Stream

_PIECE = 32_768
_MEDIA_TYPE = "application/json"


class ContractOperations:
    """The API document.

    Args:
        document: returns the encoded document of `octavo.http.contract.openapi.document`.
    """

    PATH: ClassVar[str] = "/api/openapi.json"

    def __init__(self, document: Callable[[], Awaitable[bytes]]) -> None:
        self._document = document

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
        return Stream(_pieces(document), _MEDIA_TYPE, len(document))


def encoded(document: Mapping[str, object]) -> bytes:
    """Return ``document`` encoded."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


async def _pieces(document: bytes) -> AsyncIterator[bytes]:
    # In pieces: sent as a whole, the shared bytes would count against the memory of each reader.
    for start in range(0, len(document), _PIECE):
        yield document[start : start + _PIECE]
