"""What operations require of their caller."""

from collections.abc import Sequence

from octavo_rules.problems import Forbidden, Header, WrongOrigin

from octavo.access.caller import Caller
from octavo.http import contract


def caller_of(call: contract.Call) -> Caller:
    """Return the caller of an operation."""
    return call.principal_as(Caller)


def require_administrator(call: contract.Call) -> Caller:
    """Return the caller. Raises `Forbidden` unless that is an administrator."""
    caller = caller_of(call)
    if caller.role != "administrator":
        raise Forbidden("This requires an administrator of the installation.")
    return caller


def origin_of(headers: Sequence[Header]) -> bytes | None:
    """Return the ``origin`` of ``headers``; None when it is missing or repeated."""
    found = [value for name, value in headers if name == b"origin"]
    return found[0] if len(found) == 1 else None


def require_origin(headers: Sequence[Header], origin: str) -> None:
    """Raise `WrongOrigin` unless ``headers`` name ``origin``.

    For operations before signing in, so that another site cannot sign a visitor in to its own
    account. Programs other than browsers set the header themselves.
    """
    found = origin_of(headers)
    if found != origin.encode():
        came = "has no origin header" if found is None else "comes from another origin"
        raise WrongOrigin(
            f"This installation is used at {origin}, and the request {came}. Use that address.",
            members={"publicUrl": origin},
        )


def refuse_other_origin(headers: Sequence[Header], origin: str) -> None:
    """Raise `WrongOrigin` when ``headers`` name another origin; the header may be missing.

    For reading: browsers omit the header in requests to the page's own origin.
    """
    if any(name == b"origin" for name, _ in headers):
        require_origin(headers, origin)
