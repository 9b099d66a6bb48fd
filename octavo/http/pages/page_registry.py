"""What every page of a signed-in person, and every form, has in common.

A page names the audience it is for, and receives the visitor. Before a form is performed, it must
prove that a page of this installation sent it: by the headers ``origin`` and ``sec-fetch-site``,
which browsers set and pages can't change, and by a value that only pages of the session contain.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import Protocol, cast

import trio
from antechamber.asgi import Scope, extension_of
from octavo_rules import problems
from pydantic_core import to_json
from quart import Response, g, request
from quart.wrappers.response import DataBody
from quart_trio import QuartTrio

from octavo.access.ports import NewEntropy
from octavo.http import contract
from octavo.http.account_schemas import AccountSchema
from octavo.http.callers import session_token
from octavo.http.pages import forms, kept_forms
from octavo.http.pages.long_texts import is_long, reservation
from octavo.http.pages.uploads import open_upload

TOKEN = "token-of-form"
"""The hidden field with the value that only pages of the session contain."""
ONCE = "once"
"""The hidden field with a value of one form."""
TEXT = "text"
"""The field with a long text."""

_CHUNK = 1024 * 1024
# Rows of a list on one page: it stays small on a slow line.
_ROWS = "30"

_OLD_FORM = (
    "You have signed in again since the form was opened, so nothing was changed. Open the page "
    "again, and fill in the form."
)

_SMALL = (
    "This form is longer than 64 KB. Nothing was changed: go back in your browser, and make it "
    "shorter."
)
_LONGER = (
    "Nothing was saved: you are signed out, or may not write here, and your text is too long to be "
    "kept on a page. Go back in your browser: your text is still there. Sign in in another window, "
    "then save it again."
)
_LONGEST = (
    "Nothing was saved: a note may have 2 MB of text, and an image 32 MB. Go back in your browser: "
    "your text is still there. Split it into several notes, or make the image smaller."
)

Handler = Callable[..., Awaitable[Response]]


class Audience(Enum):
    """Who a page is for. Others are asked to sign in, or refused."""

    ANYBODY = "anybody"
    ACCOUNT = "account"
    ADMINISTRATOR = "administrator"


class Writes(Protocol):
    """Raises a problem for those who may not write in a workspace."""

    def __call__(self, visitor: "Visitor", workspace_id: str, /) -> Awaitable[object]:
        """Check the visitor."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """The person who requests a page.

    Attributes:
        api: calls operations for the person.
        form: the fields of the form; empty for a page.
        query: the parameters of the address.
        signed_in: the account; None for a stranger.
        files: the files of the form.
    """

    api: contract.Api
    form: Mapping[str, str]
    query: Mapping[str, str]
    signed_in: AccountSchema | None
    files: Mapping[str, forms.SentFile]

    @property
    def account(self) -> AccountSchema:
        """The account of the person. Raises `NotSignedIn` without one."""
        if self.signed_in is None:
            raise problems.NotSignedIn
        return self.signed_in

    @property
    def consent_due(self) -> bool:
        """Whether the person must accept the legal documents in force."""
        return self.signed_in is not None and self.signed_in.consent.required is not None

    @property
    def page(self) -> dict[str, str | None]:
        """The parameters of a list in the API for the page that the address names."""
        return {"limit": _ROWS, "after": self.query.get("after")}


async def nobody_registers() -> bool:
    """Return False: nobody may register."""
    return False


class PageRegistry:
    """Registers the pages of an application.

    Args:
        app: the application.
        perform: performs an operation of the API.
        public_url: the origin of the installation.
        new_entropy: returns the entropy of hidden fields.
        stamps: the stamps in the addresses of forms with a long text.

    Attributes:
        registration_is_open: returns whether everybody may register.
    """

    def __init__(
        self,
        app: QuartTrio,
        perform: contract.Perform,
        *,
        public_url: str,
        new_entropy: NewEntropy,
        stamps: forms.FormStamps,
    ) -> None:
        self._app = app
        self._perform = perform
        self.registration_is_open = nobody_registers
        self._public_url = public_url
        self._submissions = kept_forms.Resubmissions[Response](size_of=_size_of)
        self._stamps = stamps
        app.before_request(self._recognise)
        app.before_serving(self._begin_to_forget)
        app.after_serving(self._end_to_forget)

        def once() -> str:
            return new_entropy()[:16].hex()

        app.jinja_env.globals.update(
            form_token=form_token,
            form_once=once,
            form_stamp=self._stamp,
        )

    @property
    def public_url(self) -> str:
        """The origin of the installation."""
        return self._public_url

    def provide(self, **variables: object) -> None:
        """Let all templates use ``variables``, and the menus depend on them (`where_provided`)."""
        self._app.jinja_env.globals.update(variables)

    def page(
        self, path: str, audience: Audience = Audience.ACCOUNT, *, before_consent: bool = False
    ) -> Callable[[Handler], Handler]:
        """Return a decorator that serves the page at ``path``, a Quart rule, with a handler.

        The handler receives the visitor and the values of the path. A person who has not accepted
        the legal documents in force is asked to first, unless ``before_consent``.
        """

        def decorate(handler: Handler) -> Handler:
            async def serve(**values: str) -> Response:
                visitor = self._visitor(audience)
                if not before_consent and audience is not Audience.ANYBODY and visitor.consent_due:
                    raise problems.ConsentRequired
                return await handler(visitor, **values)

            self._app.add_url_rule(path, f"GET {path}", serve, methods=["GET"])
            return handler

        return decorate

    def form(
        self,
        path: str,
        audience: Audience = Audience.ACCOUNT,
        *,
        once: bool = False,
        writes: Writes | None = None,
        keeps_text: bool = False,
        stamped: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Return a decorator that serves the form submitted to ``path`` with a handler.

        A form that is performed ``once`` has a hidden field of that name; a second submission gets
        the response of the first. ``writes`` raises a problem for those who may not write in the
        workspace; a form of the others may have a long text and an image. With ``keeps_text``, the
        text is not lost when the form can't be saved: when the session has ended, the person signs
        in, and goes on. A form that keeps its text or is ``stamped`` has the stamp of a workspace
        in its address, and may have a long text after the session, too.
        """
        stamped = stamped or keeps_text

        def decorate(handler: Handler) -> Handler:
            async def answer(body: forms.SentForm, values: Mapping[str, str]) -> Response:
                if not keeps_text:
                    self._visitor(audience)
                large = body.is_large and await self._may_be_large(writes, values, stamped=stamped)
                try:
                    form = await body.read(reservation(), large=large)
                except problems.BodyTooLarge:
                    longest = _LONGEST if large else _LONGER if stamped else _SMALL
                    raise problems.BodyTooLarge(longest) from None
                if not keeps_text or not form.fields.get(TEXT):
                    return await checked(form, values)
                following = request.full_path.rstrip("?")
                try:
                    return await checked(form, values)
                except problems.NotSignedIn:
                    return await kept_forms.sign_in_again(
                        kept_forms.fields_to_keep(form), following
                    )
                except problems.Problem as problem:
                    return await kept_forms.not_saved(
                        kept_forms.fields_to_keep(form), following, form_token(), problem
                    )

            async def checked(form: forms.Form, values: Mapping[str, str]) -> Response:
                visitor = self._visitor(audience, form)
                if not self._is_own_form(visitor, audience):
                    if keeps_text:
                        following = request.full_path.rstrip("?")
                        return await kept_forms.go_on(
                            kept_forms.fields_to_keep(form), following, form_token()
                        )
                    raise forms.OldForm(_OLD_FORM)
                perform = partial(handler, visitor, **values)
                if not once or not visitor.form.get(ONCE):
                    return await perform()
                return await self._perform_once(visitor, audience, perform)

            self._serve_form(path, answer)
            return handler

        return decorate

    async def _may_be_large(
        self, writes: Writes | None, values: Mapping[str, str], *, stamped: bool
    ) -> bool:
        """Return whether the sender of a form may write, or could when the form was made.

        The memory is that of the account. Raises the problem of a sender who may not write, unless
        the form may have a stamp.
        """
        workspace = values.get("workspace_id")
        if writes is not None and workspace is not None:
            try:
                await writes(self._visitor(Audience.ACCOUNT), workspace)
            except problems.Problem:
                if not stamped:
                    raise
            else:
                return True
        stamp = await self._stamps.read(request.args.get(kept_forms.STAMP, "")) if stamped else None
        if stamp is None or str(workspace or stamp.workspace_id) != stamp.workspace_id:
            return False
        reservation().holder = stamp.account_id
        return True

    def _stamp(self, workspace_id: str) -> str:
        """Return the query of the address of a form with a long text."""
        account: AccountSchema | None = g.get("account")
        return (
            ""
            if account is None or not self._stamps.loaded
            else f"?{kept_forms.STAMP}={self._stamps.stamp(account.id, workspace_id)}"
        )

    def upload(self, path: str, *, size: int) -> Callable[[Handler], Handler]:
        """Return a decorator that serves the form with a file of ``size`` bytes or less.

        The path is one of those whose body is left to the handler. The handler receives the
        visitor with the fields before the file, the form, and the values of the path. It is
        performed once, as a form that says so.
        """

        def decorate(handler: Handler) -> Handler:
            async def answer(body: forms.SentForm, values: Mapping[str, str]) -> Response:
                visitor = self._visitor(Audience.ACCOUNT)
                upload = await open_upload(body, size)
                visitor = replace(visitor, form=upload.fields)
                if not self._is_own_form(visitor, Audience.ACCOUNT):
                    raise forms.OldForm(_OLD_FORM)
                perform = partial(handler, visitor, upload, **values)
                return await self._perform_once(visitor, Audience.ACCOUNT, perform)

            self._serve_form(path, answer)
            return handler

        return decorate

    def _serve_form(
        self, path: str, answer: Callable[[forms.SentForm, Mapping[str, str]], Awaitable[Response]]
    ) -> None:
        """Serve the forms that are sent to ``path`` by pages of this installation.

        What is left of the body is read before the response is sent.
        """

        async def serve(**values: str) -> Response:
            body = forms.SentForm(_scope())
            exchange = extension_of(_scope())
            if exchange is not None:
                # A double click drops the first request, whose response the second one gets.
                exchange.ignore_disconnect()
            try:
                self._require_own_origin()
                return await answer(body, values)
            except contract.ClientLeft:
                raise forms.FormUnreadable("The form did not arrive completely.") from None
            except problems.Problem as problem:
                # A refused form needs no memory while the rest of it is read: drop the traceback
                # and the errors that led to the problem, which refer to what has arrived.
                problem.__context__ = None
                reservation().release()
                raise problem.with_traceback(None) from None
            finally:
                await body.discard()

        self._app.add_url_rule(path, f"POST {path}", serve, methods=["POST"])

    async def _perform_once(
        self, visitor: Visitor, audience: Audience, perform: Callable[[], Awaitable[Response]]
    ) -> Response:
        # Submissions of anybody have no session before the first, and one after it.
        session = b"" if audience is Audience.ANYBODY else _token() or b""
        digest = partial(_digest, session, request.full_path, visitor)
        large = any(map(is_long, visitor.form.values())) or visitor.files
        key = await trio.to_thread.run_sync(digest) if large else digest()
        response = await self._submissions.respond(key, perform, keeps=_is_kept)
        return _copy(response) if _is_kept(response) else response

    def _require_own_origin(self) -> None:
        """Raise `WrongOrigin` unless a page of this installation sent the form."""
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        if origin != self._public_url or site not in (None, "same-origin"):
            raise problems.WrongOrigin(
                f"This installation is used at {self._public_url}, and the form comes from another "
                "address. Open the page there, and fill in the form again."
            )

    def _is_own_form(self, visitor: Visitor, audience: Audience) -> bool:
        """Return whether a page of the session sent the form.

        A form for anybody may have been opened before the person signed in, in another tab.
        """
        if audience is Audience.ANYBODY:
            return True
        token = visitor.form.get(TOKEN, "").encode()
        return hmac.compare_digest(token, form_token().encode())

    def _visitor(self, audience: Audience, form: forms.Form = forms.NO_FORM) -> Visitor:
        """Return the visitor. Raises the problem of those whom the page is not for."""
        account: AccountSchema | None = g.get("account")
        if audience is not Audience.ANYBODY:
            failure: problems.Problem | None = g.get("failure")
            if failure is not None:
                try:
                    raise failure
                finally:
                    del failure
            if account is None:
                raise problems.NotSignedIn
        if audience is Audience.ADMINISTRATOR and account and account.role != "administrator":
            raise problems.Forbidden("This page is for administrators of the installation.")
        return Visitor(self._api(), form.fields, request.args.to_dict(), account, form.files)

    def _api(self) -> contract.Api:
        request_id = request.headers.get("x-request-id", "")
        return contract.Api(self._perform, _scope(), request_id, of_page=True)

    async def _begin_to_forget(self) -> None:
        self._forgetting = trio.CancelScope()

        async def forget() -> None:
            with self._forgetting:
                await self._submissions.run()

        self._app.nursery.start_soon(forget)

    async def _end_to_forget(self) -> None:
        # The lifespan waits for its tasks.
        self._forgetting.cancel()

    async def _recognise(self) -> None:
        """Look up the account of the request, for pages and for the frame around them."""
        if request.path.startswith("/static/") or _token() is None:
            return
        try:
            g.account = await self._api().get(AccountSchema, "/api/account")
            reservation().holder = g.account.id
        except problems.NotSignedIn:
            return
        except problems.Problem as problem:
            g.failure = problem
            return
        # On a full disk, forms have no stamps.
        with suppress(problems.Problem):
            await self._stamps.load()


def _scope() -> Scope:
    # Quart has its own ASGI types.
    return cast(Scope, request.scope)


def _token() -> bytes | None:
    return session_token(_scope()["headers"])


def form_token(token: bytes | None = None) -> str:
    """Return the value that only pages of a session contain; by default of the present session."""
    token = _token() if token is None else token
    return "" if token is None else hmac.digest(token, b"octavo form", "sha256").hex()


def _size_of(response: Response) -> int:
    return response.content_length or 0


def _is_kept(response: Response) -> bool:
    """Return whether a second submission gets the response: it did something, and is not long."""
    return response.status_code < HTTPStatus.BAD_REQUEST and isinstance(response.response, DataBody)


def _digest(session: bytes, path: str, visitor: Visitor) -> str:
    """Return a digest of all fields of a form: one alone must not give access to a response."""
    digest = hashlib.sha256(session)
    for text in (path, *chain.from_iterable(visitor.form.items())):
        data = text.encode()
        digest.update(b"%d:%b" % (len(data), data))
    for name, file in visitor.files.items():
        digest.update(to_json([name, file.name, file.media_type]))
        while data := file.content.read(_CHUNK):
            digest.update(data)
        file.content.seek(0)
    return digest.hexdigest()


def _copy(response: Response) -> Response:
    """Return a copy of a response for one request: the application adds headers to it."""
    body = response.response
    assert isinstance(body, DataBody)
    made = Response(body.data, response.status_code, content_type=response.content_type)
    for name, value in response.headers.items():
        if name.lower() not in ("content-type", "content-length"):
            made.headers.add(name, value)
    return made
