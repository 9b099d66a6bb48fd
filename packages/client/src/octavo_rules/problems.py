"""Problems: exceptions for every way in which a request can be refused, with their responses.

Rules and handlers raise one, and the pipeline renders it in one place. The tree::

    Problem
    ├── InvalidRequest          400 invalid_request
    ├── NotSignedIn             401 not_signed_in
    ├── CredentialRefused       401 credential_refused
    ├── KeyRefused              401 key_refused
    ├── Forbidden               403 forbidden
    ├── InsufficientScope       403 insufficient_scope
    ├── WrongOrigin             403 wrong_origin
    ├── NotFound                404 not_found
    ├── OperatorOff             404 operator_off
    ├── MethodNotAllowed        405 method_not_allowed
    ├── ConsentRequired         409 consent_required
    ├── BodyTimeout             408 body_timeout
    ├── BodyTooLarge            413 body_too_large
    ├── UnsupportedMediaType    415 unsupported_media_type
    ├── AccountLocked           423 account_locked
    ├── RateLimited             429 rate_limited
    ├── InternalError           500 internal_error
    ├── NotReady                503 not_ready
    ├── ServerBusy              503 server_busy
    ├── StorageUnavailable      503 storage_unavailable
    ├── StorageFull             507 storage_full
    ├── InvalidContent              422 invalid_content
    ├── EpochMismatch               409 epoch_mismatch
    ├── DocumentMalformed           422 document_malformed
    ├── DocumentDependencyMissing   422 document_dependency_missing
    ├── DocumentUnsupported         422 document_unsupported
    └── DocumentTooLarge            413 document_too_large

The last six refuse changes for reasons that the client checks as well: of texts, and of updates of
documents. Modules with refusals of their own define further leaves.
"""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from octavo_rules.identity import FileId

Header = tuple[bytes, bytes]


class DescribedHeader(NamedTuple):
    """A header of a response in the contract document; a schema with a title has a name there."""

    description: str
    schema: Mapping[str, object]


TEXT: Mapping[str, object] = {"type": "string"}
CHALLENGE: Mapping[str, DescribedHeader] = {
    "www-authenticate": DescribedHeader("What would be accepted (RFC 9110 section 11.6.1).", TEXT)
}
"""The header of a problem that challenges its client, as the document describes it."""


class Problem(Exception):
    """A refusal: nothing was changed, and the caller learns what to do.

    Attributes:
        status: of the response.
        code: stable, for programs.
        summary: the meaning of the code, in the contract document.
        remedy: what to do, on the page of the code.
        heading: of a page that is refused; empty for that of the status.
        preface: what such a page says first.
        advice: what pages say in place of the detail, where that is written for developers or
            would miss what a person can do there.
        described_headers: its own headers, in the contract document.
        shape: the name of its schema there.
        detail: for people; the summary, unless the class or the instance has another.
        file_id: the file whose change was refused, if that is known.
        members: extension members (RFC 9457 section 3.2), by their JSON names: the file, and
            ``own_members``.
        headers: of the response.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    summary: ClassVar[str]
    remedy: ClassVar[str] = ""
    heading: ClassVar[str] = ""
    preface: ClassVar[str] = ""
    advice: ClassVar[str] = ""
    described_headers: ClassVar[Mapping[str, DescribedHeader]] = {}
    shape: ClassVar[str] = "Problem"
    detail: str = ""
    file_id: FileId | None = None

    def __init__(
        self,
        detail: str | None = None,
        *,
        members: Mapping[str, object] | None = None,
        headers: Sequence[Header] = (),
    ) -> None:
        self.detail = (self.detail or self.summary) if detail is None else detail
        self.own_members = dict(members or {})
        self.headers = tuple(headers)
        super().__init__(self.detail)

    @property
    def members(self) -> Mapping[str, object]:
        """The extension members, with the file."""
        named = {} if self.file_id is None else {"fileIds": [self.file_id]}
        return {**named, **self.own_members}


class TemporaryProblem(Problem):
    """A temporary refusal; ``retry_after`` is in seconds and rounded up."""

    retry_after: float = 1

    def __init__(
        self,
        detail: str | None = None,
        *,
        retry_after: float | None = None,
        members: Mapping[str, object] | None = None,
        headers: Sequence[Header] = (),
    ) -> None:
        if retry_after is not None:
            self.retry_after = retry_after
        seconds = max(1, math.ceil(self.retry_after))
        wait = (b"retry-after", b"%d" % seconds)
        super().__init__(detail, members=members, headers=[wait, *headers])


class InvalidRequest(Problem):
    """The request does not match the API document; ``errors`` has the locations (RFC 6901)."""

    status, code = 400, "invalid_request"
    summary = "The request does not match the API document."
    remedy = (
        "Check each entry of the member errors: pointer is the location in the request, "
        "message says what is expected there. Compare the request with the API document, and "
        "send it again corrected."
    )

    def __init__(
        self, detail: str | None = None, *, errors: Sequence[tuple[str, str]] = ()
    ) -> None:
        faults = [{"pointer": pointer, "message": message} for pointer, message in errors]
        super().__init__(detail, members={"errors": faults} if faults else None)


class NotSignedIn(Problem):
    """The operation needs a session or a key, and the request has no valid one."""

    status, code = 401, "not_signed_in"
    summary = "Sign in first: this needs a session or an API key."
    remedy = (
        "Sign in and send the session cookie, or send a personal API key as "
        "authorization: Bearer. The session may have ended: sign in again."
    )


class CredentialRefused(Problem):
    """The address and password, or the token of an operator, are not valid."""

    status, code = 401, "credential_refused"
    summary = "These credentials are not accepted."
    remedy = (
        "Check the address and the password for typing errors. If you forgot the password, "
        "request a message with a link to choose a new one."
    )


class KeyRefused(Problem):
    """The API key is unknown, revoked or expired."""

    status, code = 401, "key_refused"
    summary = "This key is not accepted: it is unknown, revoked or expired."
    remedy = (
        "Check that the whole key was copied, and that it is listed in the account and "
        "has not expired. Otherwise create a new key and use that one."
    )


class Forbidden(Problem):
    """The account is known but not permitted to do this."""

    status, code = 403, "forbidden"
    summary = "This account may not do this."
    remedy = (
        "Ask an administrator of the installation, or the owner of the workspace, for "
        "the role that this requires. Repeating the request does not help."
    )


class InsufficientScope(Problem):
    """The credential is limited, and its limits exclude the operation.

    The member ``scope`` is the scope that permits it, None if only full access does. The header is
    that of RFC 6750 section 3.1.
    """

    status, code = 403, "insufficient_scope"
    summary = "The key or token is limited, and may not do this."
    remedy = (
        "Use a key or token with the scope in the member scope, or one with full access where it "
        "is null. Repeating the request with this one does not help."
    )

    described_headers = CHALLENGE

    def __init__(self, scope: str | None = None, detail: str | None = None) -> None:
        challenge = b'Bearer error="insufficient_scope"'
        if scope is not None:
            challenge += b', scope="' + scope.encode() + b'"'
        super().__init__(
            detail, members={"scope": scope}, headers=[(b"www-authenticate", challenge)]
        )


class WrongOrigin(Problem):
    """A request that changes something, authenticated by cookie, came from another site.

    The member ``publicUrl`` is the origin to use.
    """

    status, code = 403, "wrong_origin"
    summary = "The request did not come from this installation's own pages."
    remedy = (
        "Open the pages at the address in the member publicUrl, or use an API key "
        "instead of the cookie. If you run the installation, check that its setting "
        "public_url is the address that browsers show."
    )


class NotFound(Problem):
    """The object does not exist, or the caller may not know that it does."""

    status, code = 404, "not_found"
    summary = "There is nothing at this address that you can see."
    remedy = (
        "Check the address for typing errors. The object may have been removed, or may "
        "belong to a workspace that you are not a member of: ask the person who gave you "
        "the address."
    )


class OperatorOff(Problem):
    """No operator token is configured."""

    status, code = 404, "operator_off"
    summary = "The operator API is off: no operator token is configured."
    remedy = (
        "If you run the installation, add the digest of an operator token to its "
        "settings, and restart it."
    )


class MethodNotAllowed(Problem):
    """The path exists with other methods; ``allow`` lists them (RFC 9110 section 10.2.1)."""

    status, code = 405, "method_not_allowed"
    summary = "This path does not support this method."
    remedy = "Use one of the methods in the header allow of the response."
    described_headers: ClassVar[Mapping[str, DescribedHeader]] = {
        "allow": DescribedHeader("The methods of the path.", TEXT)
    }


class ConsentRequired(Problem):
    """The account has not accepted the legal documents in force, and nothing was done.

    The member ``required`` has their versions and addresses.
    """

    status, code = 409, "consent_required"
    summary = "The terms or the privacy notice in force are not accepted: nothing was changed."
    remedy = (
        "Read the documents at the addresses in the member required. If you agree, accept their "
        "versions with acceptLegalDocuments, or name them in the member consent of a new account; "
        "then send the request again."
    )


class BodyTimeout(Problem):
    """The body of the request stopped arriving; nothing was done."""

    status, code = 408, "body_timeout"
    summary = "The body of the request stopped arriving; nothing was done."
    remedy = (
        "Send the request again. If it happens often, the connection is slow or broken: "
        "send smaller requests."
    )


class BodyTooLarge(Problem):
    """The body exceeds the limit of this operation."""

    status, code = 413, "body_too_large"
    summary = "The body of the request is larger than this operation accepts."
    remedy = (
        "Send less: split it into several requests, or make it smaller. The API document "
        "has the limit of each operation."
    )


class UnsupportedMediaType(Problem):
    """The operation does not accept this media type."""

    status, code = 415, "unsupported_media_type"
    summary = "This operation does not accept a body of this media type."
    remedy = (
        "Send the body as one of the media types that the API document lists for this "
        "operation, and declare it in the header content-type."
    )


class AccountLocked(Problem):
    """The account is locked, and this operation is not available to locked accounts."""

    status, code = 423, "account_locked"
    summary = "The account is locked: nothing was changed."
    remedy = (
        "The account says why it is locked; ask an administrator of the installation how to unlock "
        "it. Until then one can read the account, export the workspaces that one owns alone, "
        "delete workspaces, end sessions, keys and the access of programs, and remove the account."
    )


class RateLimited(TemporaryProblem):
    """Too many attempts."""

    status, code = 429, "rate_limited"
    summary = "Too many requests: nothing was changed. Try again later."
    remedy = (
        "Wait for the number of seconds in the header retry-after of the response, then try again."
    )


class InternalError(Problem):
    """The service failed; its log has details under the request id."""

    status, code = 500, "internal_error"
    summary = (
        "The service failed to complete the request. Its log has details under the request id."
    )
    remedy = (
        "The change may or may not have been made: check before you repeat it, or repeat "
        "it with the same mutation id. If you run the installation, search its log for "
        "requestId."
    )


class NotReady(TemporaryProblem):
    """The process does not accept work at present."""

    status, code = 503, "not_ready"
    summary = "The service does not accept work at present."
    remedy = (
        "Try again after the seconds in the header retry-after. If it lasts, the readiness report "
        "says what is missing."
    )
    retry_after = 5


class ServerBusy(TemporaryProblem):
    """The memory budget has no room for the request or its response, or a process for its work."""

    status, code = 503, "server_busy"
    summary = (
        "The service has too much to do at the same time: nothing was changed. Try again in a "
        "moment."
    )
    remedy = (
        "Send the request again after the seconds in retry-after. If it happens often, "
        "send fewer large requests at the same time or request less in each, and read "
        "responses as they arrive."
    )


PROBLEMS: tuple[type[Problem], ...] = (
    InvalidRequest,
    NotSignedIn,
    CredentialRefused,
    KeyRefused,
    Forbidden,
    InsufficientScope,
    WrongOrigin,
    NotFound,
    OperatorOff,
    MethodNotAllowed,
    ConsentRequired,
    BodyTimeout,
    BodyTooLarge,
    UnsupportedMediaType,
    AccountLocked,
    RateLimited,
    InternalError,
    NotReady,
    ServerBusy,
)
"""The problems of this module, by status."""


class StorageUnavailable(TemporaryProblem):
    """The database can't be reached, or fails."""

    status, code = 503, "storage_unavailable"
    summary = "The database of the service can't be used now."
    remedy = (
        "Send the request again after the seconds in retry-after; send a change with the "
        "same mutationId, so that it takes effect once. If it lasts, notify the operator "
        "of the service."
    )


class StorageFull(TemporaryProblem):
    """The database has no free space."""

    status, code = 507, "storage_full"
    summary = "The service has no free space: nothing was changed."
    remedy = "The operator of the service must free space. Stored data can still be read."
    retry_after = 30


STORE_PROBLEMS: tuple[type[Problem], ...] = (StorageUnavailable, StorageFull)
"""The problems of every operation that changes stored data."""


READ_PROBLEMS: tuple[type[Problem], ...] = (StorageUnavailable,)
"""The problems of every operation that reads stored data."""


class InvalidContent(Problem):
    """The file can't have this content."""

    status, code = 422, "invalid_content"
    summary = "The file cannot have this content."
    remedy = "The detail says what to leave out. Text is Unicode without NUL."


class EpochMismatch(Problem):
    """The update is for another epoch of the note's document."""

    status, code = 409, "epoch_mismatch"
    summary = "The document of the note has another epoch."
    remedy = (
        "Read the note with its document, without if-none-match, apply your edits to it, and save "
        "them with its epoch. The note was not changed."
    )


class DocumentMalformed(Problem):
    """The bytes are not an update."""

    status, code = 422, "document_malformed"
    summary = "The bytes are not an update of a Yjs document, or not a state vector."
    remedy = (
        "Send the output of Yjs (encodeStateAsUpdate and encodeStateVector, version 1) complete "
        "and unchanged."
    )


class DocumentDependencyMissing(Problem):
    """The update refers to an insertion or a deletion that the document lacks."""

    status, code = 422, "document_dependency_missing"
    summary = "The update refers to an insertion or a deletion that the document lacks."
    remedy = (
        "Send everything that the document lacks: read its state vector, and encode the update "
        "against it."
    )


class DocumentUnsupported(Problem):
    """The update writes more than the text of the note."""

    status, code = 422, "document_unsupported"
    summary = "The document of a note holds one text, named text, and nothing else."
    remedy = "Remove formats, embeds and other types; the detail names what was found."


class DocumentTooLarge(Problem):
    """The update, or the resulting document, exceeds a limit."""

    status, code = 413, "document_too_large"
    summary = "The note, or the update of it, is too large."
    remedy = (
        "Repeating the request does not help. Keep the text, split it into several notes, and "
        "create these."
    )
