"""The form of the operations below ``/api/auth``, which is that of an authentication library.

Their paths, requests and answers are those of better-auth 1.7, so that its client in a browser
works here unchanged. Where it answers a token, nothing is answered: the cookie alone holds it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from octavo.http.api.refusals import problem_of
from octavo.http.contract.bodies.body_kind import check_closed
from octavo.http.contract.bodies.body_reader import Headers
from octavo.http.contract.bodies.json_body import JsonBody
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel, Identifier, Timestamp, timestamp
from octavo.http.contract.problems import Problem
from octavo.http.server.asgi import Receive
from octavo.model.accounts.account import Account
from octavo.model.accounts.session import Session, SessionLife

M = TypeVar("M", bound=BaseModel)

_PATH = "/api/auth/"


class AuthUser(ContractModel):
    """An account, as the library knows one."""

    id: Identifier
    name: str
    email: str
    email_verified: bool = False
    """Always false: no message is sent to prove an address."""
    created_at: Timestamp
    updated_at: Timestamp


class AuthSessionDetails(ContractModel):
    """A session, as the library knows one, without its token."""

    id: Identifier
    user_id: Identifier
    expires_at: Timestamp
    """When it ends if nothing happens in it."""
    created_at: Timestamp
    updated_at: Timestamp
    """Of its last activity, to the minute."""
    ip_address: str | None
    user_agent: str = Field(description="What the browser called itself; may be empty.")


def user_of(account: Account) -> AuthUser:
    """Return ``account`` as the library knows one."""
    return AuthUser(
        id=account.account_id,
        name=account.display_name,
        email=account.address,
        created_at=timestamp(account.created_at),
        updated_at=timestamp(account.updated_at),
    )


def details_of(session: Session, life: SessionLife) -> AuthSessionDetails:
    """Return ``session`` as the library knows one."""
    return AuthSessionDetails(
        id=session.session_id,
        user_id=session.account_id,
        expires_at=timestamp(life.expires_at(session)),
        created_at=timestamp(session.created_at),
        updated_at=timestamp(session.active_at),
        ip_address=session.client or None,
        user_agent=session.device,
    )


def is_protocol(call: Call) -> bool:
    """Return whether ``call`` is of an operation of the library."""
    return call.operation.path.startswith(_PATH)


@contextmanager
def protocol_errors(*, told: bool = True) -> Iterator[None]:
    """Give a problem raised inside the member ``message``, which the library's client shows.

    Every problem already has the member ``code``, which the client reads as well. A refusal and a
    failure of the store are converted to their problems here, so that they have the member too.
    Does nothing unless ``told``.
    """
    try:
        yield
    except Problem as problem:
        if told:
            _tell(problem)
        raise
    except Exception as error:
        failure = problem_of(error)
        if not told or failure is None:
            raise
        _tell(failure)
        raise failure from error


def _tell(problem: Problem) -> None:
    problem.members.setdefault("message", problem.detail)


class ProtocolBody(JsonBody[M]):
    """A JSON body whose refusals have the form of the library."""

    __slots__ = ()

    async def read(self, headers: Headers, receive: Receive) -> M:
        """As of `JsonBody`."""
        with protocol_errors():
            return await super().read(headers, receive)


def protocol_body(model: type[M], *, limit: int) -> ProtocolBody[M]:
    """Declare a body of ``model``, of ``limit`` bytes at most, as `json_body` does."""
    check_closed(model)
    return ProtocolBody(model, limit, None)


def leads_elsewhere(url: str, origin: str) -> bool:
    """Return whether ``url``, an address to go to after signing in, leaves ``origin``.

    A path from the root stays; so does an address that begins with the origin. What browsers
    read in another way than it looks does not.
    """
    if not url.isascii() or not url.isprintable() or "\\" in url or " " in url:
        return True
    if url.startswith("/"):
        return url.startswith("//")
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    return f"{parts.scheme}://{parts.netloc}" != origin
