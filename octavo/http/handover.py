"""A request that is handed over to the application beside the contract, and what that tells back.

The scope of ASGI carries both: the id of the request as a header, for logs further down, and a
place where a refusal leaves its code, for the line of the request in the log.
"""

from collections.abc import Callable

from octavo.http.wire.asgi import Scope

_REFUSED = "octavo.refused"


def handed_over(scope: Scope, request_id: str, refused: Callable[[str], None]) -> Scope:
    """Answer ``scope`` with the id of the request; ``refused`` takes the code of a refusal."""
    others = [header for header in scope["headers"] if header[0] != b"x-request-id"]
    headers = [*others, (b"x-request-id", request_id.encode())]
    return {**scope, "headers": headers, _REFUSED: refused}


def tell_refused(scope: Scope, code: str) -> None:
    """Tell whoever handed ``scope`` over that it is refused with the problem ``code``.

    Where nobody did, as in tests of the pages alone, nobody is told.
    """
    refused: Callable[[str], None] | None = scope.get(_REFUSED)
    if refused is not None:
        refused(code)
