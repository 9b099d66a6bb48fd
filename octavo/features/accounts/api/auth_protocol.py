"""The protocol of the operations below ``/api/auth``: that of better-auth 1.7.

Paths, requests and responses are compatible, so that its browser client works unchanged. Tokens are
omitted from responses: only the cookie holds the token.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from antechamber.asgi import Receive
from octavo_rules import problems
from octavo_rules.problems import Problem
from pydantic import BaseModel, Field

from octavo.features.accounts.rules.session import Session, SessionLife
from octavo.http import contract
from octavo.http.refusals import failures_as_problems
from octavo.model.access.account import Account

M = TypeVar("M", bound=BaseModel)

_PATH = "/api/auth/"

AUTH_PROBLEMS: tuple[type[Problem], ...] = (
    problems.CredentialRefused,
    problems.WrongOrigin,
    problems.NotFound,
    problems.BodyTooLarge,
    problems.UnsupportedMediaType,
    problems.RateLimited,
)
"""The problems that every operation of the tag ``auth`` declares.

The specification lists their statuses for the group; not every operation responds with each.
"""


class AuthUser(contract.Model):
    """An account, in the form of better-auth."""

    id: contract.Identifier
    name: str
    email: str
    email_verified: bool = False
    """Always false: addresses are not verified by a message."""
    created_at: contract.Timestamp
    updated_at: contract.Timestamp


class AuthSessionDetails(contract.Model):
    """A session without its token, in the form of better-auth."""

    id: contract.Identifier
    user_id: contract.Identifier
    expires_at: contract.Timestamp
    """When the session ends without activity."""
    created_at: contract.Timestamp
    updated_at: contract.Timestamp
    """The last activity, to the minute."""
    ip_address: str | None
    user_agent: str = Field(description="The user agent of the browser; may be empty.")


def user_of(account: Account) -> AuthUser:
    """Return ``account`` in the form of better-auth."""
    return AuthUser(
        id=account.account_id,
        name=account.display_name,
        email=account.address,
        created_at=contract.timestamp(account.created_at),
        updated_at=contract.timestamp(account.updated_at),
    )


def details_of(session: Session, life: SessionLife) -> AuthSessionDetails:
    """Return ``session`` in the form of better-auth."""
    return AuthSessionDetails(
        id=session.session_id,
        user_id=session.account_id,
        expires_at=contract.timestamp(life.expires_at(session)),
        created_at=contract.timestamp(session.created_at),
        updated_at=contract.timestamp(session.active_at),
        ip_address=session.client or None,
        user_agent=session.device,
    )


def is_protocol(call: contract.Call) -> bool:
    """Return whether ``call`` is of an operation of the protocol."""
    return call.operation.path.startswith(_PATH)


@contextmanager
def protocol_errors(*, enabled: bool = True) -> Iterator[None]:
    """Add the member ``message``, which better-auth's client shows, to problems raised inside.

    Every problem already has the member ``code``, which the client reads as well. Refusals and
    store failures are converted to problems here, so that they have the member too. It is not added
    unless ``enabled``.
    """
    try:
        with failures_as_problems():
            yield
    except Problem as problem:
        if enabled:
            problem.own_members.setdefault("message", problem.detail)
        raise


class ProtocolBody(contract.JsonBody[M]):
    """A JSON body whose problems have the form of better-auth."""

    async def read(self, headers: contract.Headers, receive: Receive) -> M:
        """Read the body as `JsonBody` does."""
        with protocol_errors():
            return await super().read(headers, receive)


def protocol_body(model: type[M], *, limit: int) -> ProtocolBody[M]:
    """Declare a JSON body of ``model``, of at most ``limit`` bytes, as `json_body` does."""
    contract.check_closed(model)
    return ProtocolBody(model, limit)
