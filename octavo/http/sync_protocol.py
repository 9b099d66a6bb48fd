"""Which versions of the sync protocol are served, and what a request says of its own."""

from octavo.http.contract_model import HeaderModel
from octavo.http.problems import Problem

VERSIONS = (1,)


class UnsupportedProtocol(Problem):
    """The request speaks a version that is not served."""

    status, code = 400, "unsupported_protocol"
    summary = "This version of the sync protocol is not served."
    remedy = "Ask getSyncProtocol for the versions served, and update the client."


class SyncProtocol(HeaderModel):
    """The version of the sync protocol that the client speaks."""

    sync_protocol: str | None = None
    """A number; left out, it is 1."""


def check_protocol(headers: SyncProtocol) -> None:
    """Raise `UnsupportedProtocol` for a version that is not served."""
    given = headers.sync_protocol
    if given is not None and given not in map(str, VERSIONS):
        served = ", ".join(map(str, VERSIONS))
        raise UnsupportedProtocol(f"Served are the versions {served} of the sync protocol.")
