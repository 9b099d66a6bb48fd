"""The version of the protocol of devices, which requests may name."""

from typing import Annotated

from octavo_rules.problems import Problem
from pydantic import Field

from octavo.http import contract

VERSIONS = (1,)


class UnsupportedProtocol(Problem):
    """The request uses an unsupported version of the protocol."""

    status, code = 400, "unsupported_protocol"
    summary = "This version of the sync protocol is not supported."
    remedy = "Get the supported versions from getSyncProtocol, and update the client."


class SyncProtocol(contract.HeaderModel):
    """The version of the sync protocol that the client uses."""

    sync_protocol: (
        Annotated[str, Field(json_schema_extra={"enum": [str(each) for each in VERSIONS]})] | None
    ) = None
    """A number; 1 if omitted."""


def check_protocol(headers: SyncProtocol) -> None:
    """Raise `UnsupportedProtocol` for an unsupported version."""
    given = headers.sync_protocol
    if given is not None and given not in map(str, VERSIONS):
        served = ", ".join(map(str, VERSIONS))
        raise UnsupportedProtocol(f"The supported versions of the sync protocol are {served}.")
