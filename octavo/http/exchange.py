"""What the wire lets an application ask for beyond ASGI, found in the scope of a request."""

from typing import Protocol

from octavo.http.wire.asgi import Scope

EXTENSION = "octavo"


class Exchange(Protocol):
    """One request on the wire. Another server gives none, and the request does without."""

    @property
    def request_id(self) -> str:
        """The id of the request: the client's own when it is a good one, else one made."""

    @property
    def request_id_accepted(self) -> bool:
        """False when the request brought an id of its own that is none."""

    @property
    def refused(self) -> tuple[int, str] | None:
        """Status and code of what the wire answers in place of the application, if it does."""

    def allow(self, seconds: float) -> None:
        """Let the whole request take ``seconds`` from now, in place of the wire's own limit."""

    def ignore_disconnect(self) -> None:
        """Let the application run to its end, also when the client leaves before that."""


def exchange_of(scope: Scope) -> Exchange | None:
    """Answer the exchange behind ``scope``; None when another server than the wire made it."""
    extensions = scope.get("extensions")
    found: Exchange | None = extensions.get(EXTENSION) if extensions else None
    return found
