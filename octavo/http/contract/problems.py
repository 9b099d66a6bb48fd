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
    ├── NotReady                503 not_ready
    └── ServerBusy              503 server_busy

Operations with refusals of their own add leaves beside the code that raises them.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

Header = tuple[bytes, bytes]


class Problem(Exception):
    """A refusal: nothing was changed, and the caller is told what to do.

    A leaf gives ``status``, the stable ``code`` and the ``summary`` of the code for the contract
    document; with ``remedy`` the page of the code says what to do about it. ``detail`` is for
    people; ``members`` are further members of the document (RFC 9457 section 3.2), by their names
    on the wire; ``headers`` are sent with the answer.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    summary: ClassVar[str]
    remedy: ClassVar[str] = ""

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
    remedy = (
        "Look at each entry of the member errors: pointer names the place in the request, "
        "message what belongs there. Compare the request with the contract, and send it again "
        "corrected."
    )

    def __init__(
        self, detail: str | None = None, *, errors: Sequence[tuple[str, str]] = ()
    ) -> None:
        found = [{"pointer": pointer, "message": message} for pointer, message in errors]
        super().__init__(detail, members={"errors": found} if found else None)


class NotSignedIn(Problem):
    """The operation needs a session or a key, and the request brought none that counts."""

    status, code = 401, "not_signed_in"
    summary = "Sign in first: this needs a session or an API key."
    remedy = (
        "Sign in and send the session cookie along, or send a personal API key as "
        "authorization: Bearer. A session may have ended: sign in again."
    )


class CredentialRefused(Problem):
    """Address and password, or the token given, do not open anything."""

    status, code = 401, "credential_refused"
    summary = "These credentials are not accepted."
    remedy = (
        "Check the address and the password, or the token, for slips. Whoever forgot the "
        "password asks for a new one; an operator token must be one that the settings of the "
        "installation name."
    )


class KeyRefused(Problem):
    """The API key is unknown, revoked or past its expiry."""

    status, code = 401, "key_refused"
    summary = "This key is not accepted: it is unknown, revoked or expired."
    remedy = (
        "Check that the whole key was copied, and in the settings of the account that it is "
        "there and has not expired. Otherwise make a new key, and use it instead."
    )


class Forbidden(Problem):
    """The account is known and may not do this."""

    status, code = 403, "forbidden"
    summary = "This account may not do this."
    remedy = (
        "Ask an administrator of the installation, or the owner of the workspace, for the "
        "role that this needs. Repeating the request as it is changes nothing."
    )


class WrongOrigin(Problem):
    """A change that rests on the cookie came from another site.

    The member ``publicUrl`` is the origin to use.
    """

    status, code = 403, "wrong_origin"
    summary = "The request did not come from this installation's own pages."
    remedy = (
        "Open the pages at the address in the member publicUrl, or call with an API key instead "
        "of the cookie. If you run the installation, check that its setting public_url is the "
        "address that browsers show."
    )


class NotFound(Problem):
    """There is no such thing, or the caller may not know of it."""

    status, code = 404, "not_found"
    summary = "There is nothing here that you can see."
    remedy = (
        "Check the address for slips. What is there may have been removed, or may belong to a "
        "workspace that this account is no member of: ask who gave you the address."
    )


class OperatorOff(Problem):
    """No operator token is configured."""

    status, code = 404, "operator_off"
    summary = "The operator API is off: no operator token is configured."
    remedy = (
        "If you run the installation, name the digest of an operator token in its settings, "
        "and start it again."
    )


class MethodNotAllowed(Problem):
    """The path is known, with other methods; ``allow`` lists them (RFC 9110 section 10.2.1)."""

    status, code = 405, "method_not_allowed"
    summary = "This path does not take this method."
    remedy = "Use one of the methods that the header allow of the answer lists."


class BodyTimeout(Problem):
    """The request's body stopped arriving; nothing was done."""

    status, code = 408, "body_timeout"
    summary = "The body of the request stopped arriving; nothing was done."
    remedy = (
        "Send the request again. If it happens often, the connection is slow or broken: send "
        "less at once."
    )


class BodyTooLarge(Problem):
    """The body passes the bound of this operation."""

    status, code = 413, "body_too_large"
    summary = "The body of the request is larger than this operation takes."
    remedy = (
        "Send less: split it into several requests, or make it smaller. The contract gives "
        "the bound of each operation."
    )


class UnsupportedMediaType(Problem):
    """The body is of a type that this operation does not read."""

    status, code = 415, "unsupported_media_type"
    summary = "This operation does not read a body of this media type."
    remedy = (
        "Send the body as one of the media types that the contract lists for this operation, "
        "and name it in the header content-type."
    )


class AccountLocked(Problem):
    """The account is locked, and this is not among what a locked account keeps."""

    status, code = 423, "account_locked"
    summary = "The account is locked: nothing was changed."
    remedy = (
        "Reading the account, exporting, and signing out still work. Ask an administrator of "
        "the installation why it is locked, and what opens it."
    )


class RateLimited(Problem):
    """Too many attempts; ``retry_after`` says in how many whole seconds to come back."""

    status, code = 429, "rate_limited"
    summary = "Too many requests: nothing was changed. Try again later."
    remedy = (
        "Wait for as many seconds as the header retry-after of the answer says, and try again then."
    )

    def __init__(self, detail: str | None = None, *, retry_after: int) -> None:
        super().__init__(detail, headers=[(b"retry-after", b"%d" % retry_after)])


class InternalError(Problem):
    """The service failed; its log knows more, under the request id."""

    status, code = 500, "internal_error"
    summary = "The service failed to complete the request. Its log has the request id."
    remedy = (
        "The change may or may not have been made: look before you repeat it, or repeat it "
        "with the same mutation id. If you run the installation, look for requestId in its "
        "log."
    )


class NotReady(Problem):
    """The process takes no work now."""

    status, code = 503, "not_ready"
    summary = "The service takes no work now."
    remedy = (
        "Try again in a moment, after as many seconds as the header retry-after says if there "
        "is one. If it lasts, the report of readiness says what is missing."
    )


class ServerBusy(Problem):
    """The memory budget has no room for the request or its answer."""

    status, code = 503, "server_busy"
    summary = "Too much is sent and answered at once: nothing was changed. Try again in a moment."
    remedy = (
        "Send the request again after the seconds of retry-after. If it happens often, send fewer "
        "large requests at once, or ask for less in each; and take answers as fast as they come."
    )

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail, headers=[(b"retry-after", b"1")])


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
    ServerBusy,
)
"""Those of this module, by their status."""
