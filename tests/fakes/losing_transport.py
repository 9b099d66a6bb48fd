"""A transport to a real server that loses responses, or requests, on demand."""

from dataclasses import dataclass, field
from typing import Literal

import httpx

Fate = Literal["reaches", "request lost", "response lost"]


@dataclass
class LossyTransport(httpx.AsyncBaseTransport):
    """Applies one of `fates` to each request with ``method``; afterwards nothing is lost."""

    method: str = "POST"
    fates: list[Fate] = field(default_factory=list)
    network: httpx.AsyncHTTPTransport = field(default_factory=httpx.AsyncHTTPTransport)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        fate: Fate = "reaches"
        if request.method == self.method:
            fate = self.fates.pop(0) if self.fates else "reaches"
        if fate == "request lost":
            raise httpx.WriteError("lost")
        response = await self.network.handle_async_request(request)
        if fate == "response lost":
            await response.aread()
            await response.aclose()
            raise httpx.ReadError("lost")
        return response

    async def aclose(self) -> None:
        await self.network.aclose()
