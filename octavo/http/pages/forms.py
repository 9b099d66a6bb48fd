"""Read forms as the API reads its bodies: bounded before they are parsed, counted as they arrive.

Quart would keep a body of any size, and parse any number of fields. The connection of a page leaves
the body of a form to its handler, which checks first where the form comes from, and who sent it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from sys import getsizeof
from typing import BinaryIO, cast

import trio
from antechamber.asgi import Event, Receive, Scope, extension_of
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable
from octavo_rules.identity import AccountId, WorkspaceId
from octavo_rules.problems import BodyTooLarge, Forbidden, InvalidRequest
from quart.wrappers import Request
from quart_trio.asgi import TrioASGIHTTPConnection

from octavo.access.ports import Clock, milliseconds
from octavo.http import contract
from octavo.http.refusals import failures_as_problems
from octavo.model.access.form_stamp import FormStamp, signed_stamp, valid_stamp
from octavo.model.image_limits import MAX_BYTES

FormSecret = Callable[[], Awaitable[bytes]]
"""Returns the secret of the installation by which stamps are signed. Raises `StoreUnavailable`."""


class FormStamps:
    """Makes and reads stamps.

    Args:
        secret: returns the secret.
        now: the clock, in seconds of Unix time.
        session_seconds: the longest life of a session.
    """

    def __init__(self, secret: FormSecret, *, now: Clock, session_seconds: float) -> None:
        self._get_secret = secret
        self._now = now
        self._session_seconds = session_seconds
        self._secret: bytes | None = None

    async def load(self) -> bytes:
        """Return the secret, read once. Raises a problem if the database is unavailable."""
        if self._secret is None:
            with failures_as_problems():
                self._secret = await self._get_secret()
        return self._secret

    @property
    def loaded(self) -> bool:
        """Whether stamps can be made."""
        return self._secret is not None

    def stamp(self, account_id: str, workspace_id: str) -> str:
        """Return a stamp for a form that is made now. The secret must have been loaded."""
        assert self._secret is not None
        made_at = milliseconds(self._now())
        stamp = FormStamp(AccountId(account_id), WorkspaceId(workspace_id), made_at)
        return signed_stamp(stamp, self._secret)

    async def read(self, text: str) -> FormStamp | None:
        """Return a valid stamp; None for anything else. Raises the same errors as `load`."""
        now = milliseconds(self._now())
        return valid_stamp(text, await self.load(), now, self._session_seconds)


MOST_FIELDS = 200
"""Fields of a form."""
LONGEST_SMALL = contract.COUNTED
"""Bytes of a form without long texts and images."""
LONGEST_TEXT = 8 * 1024 * 1024
"""Bytes of the fields of a form with a long text. The longest note has a quarter of it: browsers
send its lines with CR LF, and what is too long to be saved is shown again.
"""
LONGEST_FORM = MAX_BYTES + LONGEST_TEXT
"""Bytes of a form with an image."""
TRANSFER_SECONDS = 180.0
"""Seconds in which a large form has to progress by a `renewed_time.STEP_SIZE`."""
MOST_DISCARDED = 1024 * 1024 * 1024
"""Bytes of a refused form that are read: browsers show the reason after they have sent it all."""

_BODY = "octavo.body"


class FormUnreadable(InvalidRequest):
    """A form that is malformed, incomplete, or has more parts than forms have."""

    heading = "The form could not be read"


class OldForm(Forbidden):
    """A form that a page of another session made."""

    heading = "This form is out of date"


class FormConnection(TrioASGIHTTPConnection):
    """Serves a request of the pages; the body of a form is left to its handler."""

    async def __call__(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Serve the request."""
        scope = cast(Scope, self.scope)
        if scope["method"] == "POST":
            scope[_BODY] = receive
        await super().__call__(receive, send)

    async def handle_messages(  # type: ignore[override]
        self, nursery: trio.Nursery, request: Request, receive: ASGIReceiveCallable
    ) -> None:
        """Cancel the handler when the client leaves; that of a form reads its body itself."""
        if _BODY not in self.scope:
            while (await receive())["type"] != "http.disconnect":
                continue
            nursery.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a form."""

    name: str
    media_type: str
    content: BinaryIO


@dataclass(frozen=True, slots=True)
class Form:
    """The fields and the files of a form, by name; of several with one name, the first."""

    fields: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, SentFile] = field(default_factory=dict)


NO_FORM = Form()


class PageForm:
    """The kind of body of a form: urlencoded and small, or multipart.

    Args:
        large: whether it may have a long text and an image.
    """

    too_large = BodyTooLarge

    def __init__(self, *, large: bool) -> None:
        self._longest_text = LONGEST_TEXT if large else LONGEST_SMALL
        self.limit = LONGEST_FORM if large else LONGEST_SMALL
        self.media_types = (contract.FORM_MEDIA_TYPE, "multipart/form-data")
        self.model = None
        self.schema = None
        bounds = contract.PartBounds(parts=MOST_FIELDS, field=self._longest_text)
        self._multipart = contract.multipart_body(limit=self.limit, bounds=bounds)

    async def read(self, headers: contract.Headers, receive: Receive) -> Form:
        """Return the form. Raises the same errors as `BodyKind.read`."""
        media_type = contract.parse_media_type(contract.body_head(headers, self.limit)[0] or b"")
        if media_type is None or media_type.essence != contract.FORM_MEDIA_TYPE:
            return await self._parts(await self._multipart.read(headers, receive))
        contract.body_head(headers, LONGEST_SMALL)
        fields = contract.parse_form(await contract.whole_body(receive, LONGEST_SMALL), MOST_FIELDS)
        return Form(dict(reversed(fields)))

    async def _parts(self, parts: contract.MultipartStream) -> Form:
        fields: dict[str, str] = {}
        files: dict[str, SentFile] = {}
        left = self._longest_text
        async for part in parts:
            if part.filename is None:
                value = await part.read(left)
                left -= len(value)
                fields.setdefault(part.name, field_text(value))
            else:
                file = await _content(part)
                kind = part.media_type or "application/octet-stream"
                files.setdefault(part.name, SentFile(part.filename, kind, file))
        return Form(fields, files)


_SMALL, _LARGE = PageForm(large=False), PageForm(large=True)


async def _content(part: contract.Part) -> BinaryIO:
    file = BytesIO()
    async for chunk in part:
        file.write(chunk)
    file.seek(0)
    return file


def field_text(value: bytes) -> str:
    """Return the text of a field. Raises `InvalidRequest` for other bytes than UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InvalidRequest("A field of the form is not UTF-8.") from None


class SentForm:
    """The body of a form, in a request of a `FormConnection`.

    Args:
        scope: of the request.
    """

    def __init__(self, scope: Scope) -> None:
        self.headers: contract.Headers = scope["headers"]
        self._exchange = extension_of(scope)
        self._receive: Receive = scope[_BODY]
        self._ended = False

    @property
    def is_large(self) -> bool:
        """Whether the form is larger than most, or does not tell its length."""
        return contract.declared_size(self.headers, 1 << 62) > LONGEST_SMALL

    async def read(self, reservation: contract.Reservation, *, large: bool) -> Form:
        """Return the form, whose memory is reserved. A ``large`` one has time while it progresses.

        Raises the same errors as `octavo.http.contract.bodies.BodyKind.read`, with `FormUnreadable`
        for `InvalidRequest` and for a form that does not arrive completely, and `ServerBusy`
        without memory.
        """
        try:
            if not large:
                return await _SMALL.read(self.headers, self.receive)
            self.allow_time()
            form = await reservation.read(_LARGE, self.headers, self.receive)
        except contract.ClientLeft:
            raise FormUnreadable("The form did not arrive completely.") from None
        except InvalidRequest as problem:
            raise FormUnreadable(problem.detail) from None
        # One character beyond Latin-1 makes a text two or four times as large in memory.
        await reservation.reserve(sum(map(getsizeof, form.fields.values())))
        return form

    def allow_time(self) -> None:
        """Let the body take as long as it needs, while it progresses."""
        if self._exchange is not None:
            self._exchange.allow(TRANSFER_SECONDS)
            renewed = contract.RenewedTime(self._exchange, TRANSFER_SECONDS)
            self._receive = renewed.receive(self._receive)

    async def discard(self) -> None:
        """Read and drop the rest of the form, up to `MOST_DISCARDED` bytes.

        This gives the request no more time than it has.
        """
        left = MOST_DISCARDED
        while not self._ended and left > 0:
            left -= len((await self.receive()).get("body", b""))

    async def receive(self) -> Event:
        """Return the next event of the body."""
        event = await self._receive()
        self._ended = event["type"] != "http.request" or not event.get("more_body", False)
        return event
