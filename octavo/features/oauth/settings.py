"""The settings of the programs that use the MCP endpoint."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from octavo.settings import KernelSettings
from octavo.settings.names import variable
from octavo.settings.values import Positive, Switch, count, reads

OFF = "The MCP endpoint is off: the setting mcp enables it."
"""The response at the paths of the endpoint and of its authorization server where it is off."""


class OAuthSettings(KernelSettings):
    """What programs may do, and for how long."""

    mcp: Switch = Field(
        default=False,
        description="true opens the endpoint of the Model Context Protocol at /mcp, through which "
        "assistants read notes with the consent of their account",
    )
    mcp_write: Switch = Field(
        default=False,
        description="true offers assistants tools that change notes, for tokens with the scope "
        "notes:write; requires mcp",
    )
    mcp_access_time: Annotated[int, reads(count(60))] = Field(
        default=3_600, description="seconds for which the access token of a program is valid"
    )
    mcp_refresh_days: Positive = Field(
        default=30, description="days without use after which a program must ask its person again"
    )

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between the settings, a line each."""
        yield from super().contradictions()
        if self.mcp_write and not self.mcp:
            yield (
                "assistants can change notes only where they can read them: "
                f"switch {variable('mcp')} on, or {variable('mcp_write')} off"
            )
