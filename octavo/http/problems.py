"""Problems: every way in which an operation can refuse, as an exception with its answer.

A handler raises one, and the pipeline renders it, once and in one place. The tree::

    Problem
    ├── InvalidRequest          400 invalid_request
    ├── NotSignedIn             401 not_signed_in
    ├── CredentialRefused       401 credential_refused
    ├── KeyRefused              401 key_refused
    ├── Forbidden               403 forbidden
    ├── WrongOrigin             403 wrong_origin
    ├── NotFound                404 not_found
    ├── OperatorOff             404 operator_off
    ├── MethodNotAllowed        405 method_not_allowed
    ├── BodyTimeout             408 body_timeout
    ├── BodyTooLarge            413 body_too_large
    ├── UnsupportedMediaType    415 unsupported_media_type
    ├── AccountLocked           423 account_locked
    ├── RateLimited             429 rate_limited
    ├── InternalError           500 internal_error
    └── NotReady                503 not_ready

Operations with refusals of their own add leaves beside the code that raises them.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

Header = tuple[bytes, bytes]


class Problem(Exception):
    """A refusal: nothing was changed, and the caller is told what to do.

    A leaf gives ``status``, the stable ``code`` and the ``summary`` of the code for the contract
    document. ``detail`` is for people; ``members`` are further members of the document (RFC 9457
    section 3.2), by their names on the wire; ``headers`` are sent with the answer.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    summary: ClassVar[str]

    def __init__(
        self,
        detail: str | None = None,
        *,
        members: Mapping[str, object] | None = None,
        headers: Sequence[Header] = (),
    ) -> None:
        self.detail = self.summary if detail is None else detail
        self.members = dict(members or {})
        self.headers = tuple(headers)
        super().__init__(self.detail)


class InvalidRequest(Problem):
    """The request does not match the contract; ``errors`` says where (RFC 6901 pointers)."""

    status, code = 400, "invalid_request"
    summary = "The request does not match the contract."

    def __init__(
        self, detail: str | None = None, *, errors: Sequence[tuple[str, str]] = ()
    ) -> None:
        found = [{"pointer": pointer, "message": message} for pointer, message in errors]
        super().__init__(detail, members={"errors": found} if found else None)


class NotSignedIn(Problem):
    """The operation needs a session or a key, and the request brought none that counts."""

    status, code = 401, "not_signed_in"
    summary = "Sign in first: this needs a session or an API key."


class CredentialRefused(Problem):
    """Address and password, or the token given, do not open anything."""

    status, code = 401, "credential_refused"
    summary = "These credentials are not accepted."


class KeyRefused(Problem):
    """The API key is unknown, revoked or past its expiry."""

    status, code = 401, "key_refused"
    summary = "This key is not accepted: it is unknown, revoked or expired."


class Forbidden(Problem):
    """The account is known and may not do this."""

    status, code = 403, "forbidden"
    summary = "This account may not do this."


class WrongOrigin(Problem):
    """A change that rests on the cookie came from another site."""

    status, code = 403, "wrong_origin"
    summary = "The request did not come from this installation's own pages."


class NotFound(Problem):
    """There is no such thing, or the caller may not know of it."""

    status, code = 404, "not_found"
    summary = "There is nothing here that you can see."


class OperatorOff(Problem):
    """No operator token is configured."""

    status, code = 404, "operator_off"
    summary = "The operator API is off: no operator token is configured."


class MethodNotAllowed(Problem):
    """The path is known, with other methods; ``allow`` lists them (RFC 9110 section 10.2.1)."""

    status, code = 405, "method_not_allowed"
    summary = "This path does not take this method."


class BodyTimeout(Problem):
    """The request's body stopped arriving; nothing was done."""

    status, code = 408, "body_timeout"
    summary = "The body of the request stopped arriving; nothing was done."


class BodyTooLarge(Problem):
    """The body passes the bound of this operation."""

    status, code = 413, "body_too_large"
    summary = "The body of the request is larger than this operation takes."


class UnsupportedMediaType(Problem):
    """The body is of a type that this operation does not read."""

    status, code = 415, "unsupported_media_type"
    summary = "This operation does not read a body of this media type."


class AccountLocked(Problem):
    """The account is locked, and this is not among what a locked account keeps."""

    status, code = 423, "account_locked"
    summary = "The account is locked: nothing was changed."


class RateLimited(Problem):
    """Too many attempts; ``retry_after`` says in how many whole seconds to come back."""

    status, code = 429, "rate_limited"
    summary = "Too many requests: nothing was changed. Try again later."

    def __init__(self, detail: str | None = None, *, retry_after: int) -> None:
        super().__init__(detail, headers=[(b"retry-after", b"%d" % retry_after)])


class InternalError(Problem):
    """The service failed; its log knows more, under the request id."""

    status, code = 500, "internal_error"
    summary = "The service failed to complete the request. Its log has the request id."


class NotReady(Problem):
    """The process takes no work now."""

    status, code = 503, "not_ready"
    summary = "The service takes no work now."


PROBLEMS: tuple[type[Problem], ...] = (
    InvalidRequest,
    NotSignedIn,
    CredentialRefused,
    KeyRefused,
    Forbidden,
    WrongOrigin,
    NotFound,
    OperatorOff,
    MethodNotAllowed,
    BodyTimeout,
    BodyTooLarge,
    UnsupportedMediaType,
    AccountLocked,
    RateLimited,
    InternalError,
    NotReady,
)
"""Those of this module, by their status."""
