"""What every page of a signed-in person, and every form, has in common.

A page names the audience it is for, and receives the visitor. Before a form is performed, it must
prove that a page of this installation sent it: by the headers ``origin`` and ``sec-fetch-site``,
which browsers set and pages can't change, and by a value that only pages of the session contain.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial, wraps
from http import HTTPStatus
from typing import cast

import trio
from pydantic_core import to_json
from quart import Response, g, request
from quart_trio import QuartTrio
from werkzeug.datastructures import FileStorage

from octavo.accounts.ports import NewEntropy
from octavo.http.api.account import AccountSchema
from octavo.http.api.session_cookie import session_token
from octavo.http.contract.bodies import ClientLeft
from octavo.http.contract.call import client_of
from octavo.http.contract.in_process import Api, Perform
from octavo.http.contract.problems import (
    BodyTimeout,
    ConsentRequired,
    Forbidden,
    InvalidRequest,
    NotSignedIn,
    Problem,
    WrongOrigin,
)
from octavo.http.pages.kept_forms import go_on, not_saved, sign_in_again
from octavo.http.pages.large_forms import is_large
from octavo.http.pages.resubmission import Resubmissions
from octavo.http.pages.shared_places import SharedPlaces
from octavo.http.pages.uploads import Body
from octavo.http.server.asgi import Scope, extension_of

TOKEN = "token-of-form"
"""The hidden field with the value that only pages of the session contain."""
ONCE = "once"
"""The hidden field with a value of one form."""
TEXT = "text"
"""The field with a long text."""

MOST_LARGE_FORMS = 8
"""Forms with long texts or images that are read at a time."""
MOST_LARGE_FORMS_OF_ONE = 2
"""Those of one account."""
MOST_LARGE_FORMS_OF_STRANGERS = 2
"""Those of people who are not signed in: their sessions have ended meanwhile. Of one address, one.
"""
LARGE_FORM_SECONDS = 180.0
"""Seconds in which such a form has to arrive, and to find a place."""

_CHUNK = 1024 * 1024
# Rows of a list on one page: it stays small on a slow line.
_ROWS = "30"

_OLD_FORM = (
    "You have signed in again since the form was opened, so nothing was changed. Open the page "
    "again, and fill in the form."
)

Handler = Callable[..., Awaitable[Response]]


class Audience(Enum):
    """Who a page is for. Others are asked to sign in, or refused."""

    ANYBODY = "anybody"
    ACCOUNT = "account"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class Visitor:
    """The person who requests a page.

    Attributes:
        api: calls operations for the person.
        given: the fields of the form; empty for a page.
        query: the parameters of the address.
        signed_in: the account; None for a stranger.
        files: the files of the form.
    """

    api: Api
    given: Mapping[str, str]
    query: Mapping[str, str]
    signed_in: AccountSchema | None
    files: Mapping[str, FileStorage]

    @property
    def account(self) -> AccountSchema:
        """The account of the person. Raises `NotSignedIn` without one."""
        if self.signed_in is None:
            raise NotSignedIn
        return self.signed_in

    @property
    def consent_due(self) -> bool:
        """Whether the person must accept the legal documents in force."""
        return self.signed_in is not None and self.signed_in.consent.required is not None

    @property
    def page(self) -> dict[str, str | None]:
        """The parameters of a list in the API for the page that the address names."""
        return {"limit": _ROWS, "after": self.query.get("after")}


class Site:
    """Registers the pages of an application.

    Args:
        app: the application.
        perform: performs an operation of the API.
        public_url: the origin of the installation.
        new_entropy: returns the entropy of hidden fields.
    """

    def __init__(
        self, app: QuartTrio, perform: Perform, *, public_url: str, new_entropy: NewEntropy
    ) -> None:
        self._app = app
        self._perform = perform
        self._public_url = public_url
        self._submissions = Resubmissions[Response](size_of=_size_of)
        self._large = SharedPlaces(MOST_LARGE_FORMS, MOST_LARGE_FORMS_OF_ONE)
        self._large_of_strangers = SharedPlaces(MOST_LARGE_FORMS_OF_STRANGERS, 1)
        app.before_request(self._recognise)

        def once() -> str:
            return new_entropy()[:16].hex()

        app.jinja_env.globals.update(
            form_token=form_token,
            form_once=once,
        )

    @property
    def public_url(self) -> str:
        """The origin of the installation."""
        return self._public_url

    def page(
        self, path: str, audience: Audience = Audience.ACCOUNT, *, before_consent: bool = False
    ) -> Callable[[Handler], Handler]:
        """Return a decorator that serves the page at ``path``, a Quart rule, with a handler.

        The handler receives the visitor and the values of the path. A person who has not accepted
        the legal documents in force is asked to first, unless ``before_consent``.
        """
        return self._rule(path, "GET", audience, before_consent=before_consent)

    def form(
        self,
        path: str,
        audience: Audience = Audience.ACCOUNT,
        *,
        once: bool = False,
        keeps_text: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Return a decorator that serves the form submitted to ``path`` with a handler.

        A form that is performed ``once`` has a hidden field of that name; a second submission gets
        the response of the first. With ``keeps_text``, the form may have a long text, which is not
        lost when the form can't be saved: when the session has ended, the person signs in, and
        goes on.
        """
        return self._rule(path, "POST", audience, once=once, keeps_text=keeps_text)

    def upload(self, path: str) -> Callable[[Handler], Handler]:
        """Return a decorator that serves the form with a file submitted to ``path``.

        The path is one of those whose body is left to the handler. The handler receives the
        visitor with the fields before the file, the form, and the values of the path. It is
        performed once, as a form that says so.
        """

        def decorate(handler: Handler) -> Handler:
            @wraps(handler)
            async def serve(**values: str) -> Response:
                stranger = self._visitor(Audience.ACCOUNT, {}, {})
                self._require_own_origin()
                exchange = extension_of(_scope())
                if exchange is not None:
                    exchange.ignore_disconnect()
                body = Body(_scope())
                try:
                    upload = await body.open()
                    visitor = replace(stranger, given=upload.fields)
                    if not self._is_own_form(visitor, Audience.ACCOUNT):
                        raise Forbidden(_OLD_FORM)
                    perform = partial(handler, visitor, upload, **values)
                    response = await self._perform_once(visitor, Audience.ACCOUNT, perform)
                    await body.discard()
                except ClientLeft:
                    raise InvalidRequest("The file did not arrive completely.") from None
                except Problem as problem:
                    if problem.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                        await body.discard()
                    raise
                return response

            self._app.add_url_rule(path, f"POST {path}", serve, methods=["POST"])
            return handler

        return decorate

    def _rule(
        self,
        path: str,
        method: str,
        audience: Audience,
        *,
        before_consent: bool = True,
        once: bool = False,
        keeps_text: bool = False,
    ) -> Callable[[Handler], Handler]:
        def decorate(handler: Handler) -> Handler:
            @wraps(handler)
            async def serve(**values: str) -> Response:
                given, files = await self._fields() if method == "POST" else ({}, {})
                if not keeps_text or not given.get(TEXT):
                    return await checked(given, files, values)
                self._require_own_origin()
                place = request.full_path.rstrip("?")
                try:
                    return await checked(given, files, values)
                except NotSignedIn:
                    return await sign_in_again(given, place)
                except Problem as problem:
                    return await not_saved(given, place, form_token(), problem)

            async def checked(
                given: Mapping[str, str],
                files: Mapping[str, FileStorage],
                values: Mapping[str, str],
            ) -> Response:
                visitor = self._visitor(audience, given, files)
                if not before_consent and visitor.consent_due and audience is not Audience.ANYBODY:
                    raise ConsentRequired
                if method != "POST":
                    return await handler(visitor, **values)
                exchange = extension_of(_scope())
                if exchange is not None:
                    # A double click drops the first request, whose response the second one gets.
                    exchange.ignore_disconnect()
                self._require_own_origin()
                if not self._is_own_form(visitor, audience):
                    if keeps_text:
                        return await go_on(given, request.full_path.rstrip("?"), form_token())
                    raise Forbidden(_OLD_FORM)
                if not once or not visitor.given.get(ONCE):
                    return await handler(visitor, **values)
                perform = partial(handler, visitor, **values)
                return await self._perform_once(visitor, audience, perform)

            name = f"{method} {path}"
            self._app.add_url_rule(path, name, serve, methods=[method])
            return handler

        return decorate

    async def _perform_once(
        self, visitor: Visitor, audience: Audience, perform: Callable[[], Awaitable[Response]]
    ) -> Response:
        # Submissions of anybody have no session before the first, and one after it.
        session = b"" if audience is Audience.ANYBODY else _token() or b""
        # The same form: all of its fields, so that nobody gets a response by its single value.
        files = await trio.to_thread.run_sync(_digests, visitor.files) if visitor.files else []
        content = to_json([request.full_path, *visitor.given.items(), *files])
        key = hashlib.sha256(session + b"\0" + content).hexdigest()
        response = await self._submissions.respond(
            key, perform, keeps=lambda made: made.status_code < HTTPStatus.BAD_REQUEST
        )
        return _copy(response, await response.get_data(as_text=False))

    def _require_own_origin(self) -> None:
        """Raise `WrongOrigin` unless a page of this installation sent the form."""
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        if origin != self._public_url or site not in (None, "same-origin"):
            raise WrongOrigin(
                f"This installation is used at {self._public_url}, and the form comes from another "
                "address. Open the page there, and fill in the form again."
            )

    def _is_own_form(self, visitor: Visitor, audience: Audience) -> bool:
        """Return whether a page of the session sent the form.

        A form for anybody may have been opened before the person signed in, in another tab.
        """
        if audience is Audience.ANYBODY:
            return True
        given = visitor.given.get(TOKEN, "").encode()
        return hmac.compare_digest(given, form_token().encode())

    async def _fields(self) -> tuple[dict[str, str], dict[str, FileStorage]]:
        """Return the fields and the files of the form."""
        if not is_large():
            form = await request.form
            return dict(form.items(multi=False)), {}
        self._require_own_origin()
        account: AccountSchema | None = g.get("account")
        # Strangers, whose sessions may have ended, don't occupy the places of others.
        places = self._large if account is not None else self._large_of_strangers
        whose = account.id if account is not None else client_of(_scope()) or ""
        with trio.move_on_after(LARGE_FORM_SECONDS) as scope:
            async with places.place(whose):
                form, files = await request.form, await request.files
        if scope.cancelled_caught:
            raise BodyTimeout
        return dict(form.items(multi=False)), dict(files.items(multi=False))

    def _visitor(
        self,
        audience: Audience,
        given: Mapping[str, str],
        files: Mapping[str, FileStorage],
    ) -> Visitor:
        account: AccountSchema | None = g.get("account")
        if audience is not Audience.ANYBODY:
            failure: Problem | None = g.get("failure")
            if failure is not None:
                raise failure
            if account is None:
                raise NotSignedIn
        if audience is Audience.ADMINISTRATOR and account and account.role != "administrator":
            raise Forbidden("This page is for administrators of the installation.")
        return Visitor(self._api(), given, request.args.to_dict(), account, files)

    def _api(self) -> Api:
        request_id = request.headers.get("x-request-id", "")
        return Api(self._perform, _scope(), request_id, of_page=True)

    async def _recognise(self) -> None:
        """Look up the account of the request, for pages and for the frame around them."""
        self._submissions.drop_old()
        if request.path.startswith("/static/") or _token() is None:
            return
        try:
            g.account = await self._api().get(AccountSchema, "/api/account")
        except NotSignedIn:
            return
        except Problem as problem:
            g.failure = problem


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


def _digests(files: Mapping[str, FileStorage]) -> list[tuple[str, str, str]]:
    """Return the name of the field, the name and the digest of each file."""
    found = []
    for name, file in files.items():
        digest = hashlib.sha256()
        while data := file.stream.read(_CHUNK):
            digest.update(data)
        file.stream.seek(0)
        found.append((name, file.filename or "", digest.hexdigest()))
    return found


def _copy(response: Response, data: bytes) -> Response:
    """Return a response of its own for each request: the application adds headers to it."""
    made = Response(data, response.status_code, content_type=response.content_type)
    for name, value in response.headers.items():
        if name.lower() not in ("content-type", "content-length"):
            made.headers.add(name, value)
    return made
