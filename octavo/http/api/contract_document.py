"""The contract itself, as a document that programs read."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import ClassVar

from octavo.http.contract.call import Call
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.reply import Stream

_PIECE = 32_768
_MEDIA_TYPE = "application/json"


class ContractOperations:
    """The document of the contract.

    Args:
        document: the document, as `octavo.http.contract.openapi.document` makes it.
    """

    PATH: ClassVar[str] = "/api/openapi.json"

    def __init__(self, document: Mapping[str, object]) -> None:
        self._document = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()

    @operation(
        id="getContract",
        method="GET",
        path=PATH,
        tag="service",
        summary="Every operation of this server, as an OpenAPI document",
        security=Security.NONE,
        media_types=(_MEDIA_TYPE,),
    )
    async def get_contract(self, call: Call) -> Stream:
        """Return the document."""
        return Stream(self._whole(), _MEDIA_TYPE, len(self._document))

    async def _whole(self) -> AsyncIterator[bytes]:
        # In pieces, as the whole would count as memory of each reader, and is there once.
        for start in range(0, len(self._document), _PIECE):
            yield self._document[start : start + _PIECE]
