"""The MCP endpoint, through which programs read and write notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.features.mcp.api.mcp import AccessTokens, Exchange, McpOperations, OwnOriginOnly
from octavo.features.oauth.settings import OFF, OAuthSettings
from octavo.http import contract
from octavo.http.lazy import LazyValue
from octavo.kernel import Feature, Parts

if TYPE_CHECKING:
    from octavo.features.oauth.feature import OAuth

FEATURE = Feature(
    "mcp",
    operations=[McpOperations],
)


def mcp_feature(settings: OAuthSettings, oauth: OAuth, perform: contract.PerformAs) -> Parts:
    """Return the feature; ``perform`` performs the operations that tools need."""
    if oauth.access_tokens is None:
        return Parts(absent={McpOperations: OFF})

    def load() -> Exchange:
        # The models of the protocol take longer to load than all other operations.
        from octavo.features.mcp.api.mcp_notes import mcp_exchange

        return mcp_exchange(perform, public_url=settings.public_url, writes=settings.mcp_write)

    loading = LazyValue(load)

    async def exchange() -> Exchange:
        return loading.made or await loading.get()

    tokens = AccessTokens(
        oauth.access_tokens, public_url=settings.public_url, writes=settings.mcp_write
    )
    return Parts(
        operations=[McpOperations(exchange)],
        authenticators={contract.Security.MCP: OwnOriginOnly(tokens, origin=settings.public_url)},
    )
