"""The Quart application of the pages."""

import gzip
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType

from octavo_rules.problems import (
    AccountLocked,
    ConsentRequired,
    NotFound,
    NotSignedIn,
    Problem,
    WrongOrigin,
)
from quart import Response, g, has_request_context, request
from quart.typing import ResponseReturnValue
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException

from octavo.access.ports import Clock, NewEntropy
from octavo.features.legal.rules import NO_TEXTS, LegalTexts
from octavo.http import contract
from octavo.http.lazy import LazyValue
from octavo.http.pages import API_REFERENCE, forms, frame, localized, long_texts, responses
from octavo.http.pages.page_registry import PageRegistry
from octavo.http.pages.reference import reference, spans
from octavo.http.pages.refusals import as_problem, refusal
from octavo.http.pages.static_files import StaticFile, page_files
from octavo.kernel import AddPages
from octavo.model.etag import parse_entity_tags
from octavo.service.features import FEATURES, MENU
from octavo.templates import FOLDER, loader_of

FOREVER = "public, max-age=31536000, immutable"
"""The ``cache-control`` of a file whose path contains a digest of its content (RFC 8246)."""

_LOGGER = logging.getLogger(__name__)
_HEADERS = tuple(
    (name.decode("ascii"), value.decode("ascii")) for name, value in contract.PAGE_HEADERS
)

_Failure = tuple[type, BaseException, TracebackType] | tuple[None, None, None]


class _Pages(QuartTrio):
    asgi_http_class = forms.FormConnection

    def log_exception(self, exception_info: _Failure) -> None:
        if has_request_context():
            request_id = request.headers.get("x-request-id", "")
            _LOGGER.error("request %s failed", request_id, exc_info=exception_info)
        # Otherwise the lifespan has failed, and its caller logs that.

    async def handle_user_exception(
        self, error: Exception | BaseExceptionGroup[BaseException]
    ) -> HTTPException | ResponseReturnValue:
        # QuartTrio handles only the first member of a group that has a handler, and loses the
        # others.
        if isinstance(error, BaseExceptionGroup):
            if len(error.exceptions) > 1 or not isinstance(error.exceptions[0], Exception):
                try:
                    raise error
                finally:
                    del error
            return await self.handle_user_exception(error.exceptions[0])
        return await super().handle_user_exception(error)


def pages(
    *,
    api_document: str,
    openapi: Callable[[], Mapping[str, object]],
    problems: Sequence[contract.AnyProblem] = (),
    public_url: str = "",
    legal: LegalTexts = NO_TEXTS,
    features: Iterable[AddPages] = (),
    perform: contract.Perform,
    now: Clock,
    new_entropy: NewEntropy,
    stamps: forms.FormStamps,
) -> QuartTrio:
    """Return the ASGI application of the pages.

    ``api_document`` is the path of the OpenAPI document, which ``openapi`` returns: the first
    visitor of `API_REFERENCE` waits until it is rendered, in a thread. Each of ``problems`` gets a
    page below ``/problems/``, which the ``type`` of a problem links to. ``public_url`` is the
    address of the installation, without a trailing slash. People accept the documents ``legal``.
    Each of ``features`` adds its pages. ``perform`` performs operations of the API. ``now`` is the
    clock, in seconds of Unix time; ``new_entropy`` returns the entropy of hidden fields, and
    ``stamps`` makes those of forms with a long text.
    The application must receive the lifespan before its first request. The header
    ``x-request-id``, set by the forwarding application, identifies a request in the log. A handler
    that fails is logged once and gets a 500.
    """
    app = _Pages(__name__, root_path=str(FOLDER), static_folder=None)
    app.jinja_loader = loader_of(feature.name for feature in FEATURES)
    app.config.update(
        # A slower response would be truncated but look complete. The server enforces deadlines, and
        # closes the connection at them.
        RESPONSE_TIMEOUT=None,
        PROPAGATE_EXCEPTIONS=False,
    )
    # Templates wait for nothing; those that could wait take nearly twice the time.
    app.jinja_env.is_async = False
    frame.forget_pages(app.jinja_env)
    explained = {problem.code: problem for problem in problems}
    style, icon, variables = page_files(public_url, legal.links)
    app.jinja_env.globals.update(variables)

    def render_api_page() -> tuple[bytes, bytes]:
        page = app.jinja_env.get_template("reference.html").render(
            frame.for_everybody(),
            contract=reference(openapi()),
            spans=spans,
            api_document=api_document,
        )
        return page.encode(), gzip.compress(page.encode())

    # The longest page, and the same for everyone.
    api_page = LazyValue(render_api_page)
    frame.add_frame(app, now, MENU)
    long_texts.add_long_texts(app, new_entropy)
    site = PageRegistry(app, perform, public_url=public_url, new_entropy=new_entropy, stamps=stamps)
    for add_pages in features:
        add_pages(site)

    @app.get("/")
    async def index() -> Response:
        if g.get("account") is not None:
            return responses.redirect(responses.HOME)
        return await responses.show(
            "index.html",
            api_document=api_document,
            api_reference=API_REFERENCE,
            open_registration=await site.registration_is_open(),
        )

    @app.get(API_REFERENCE)
    async def show_api() -> Response:
        response = _packed(*await api_page.get(), "text/html; charset=utf-8")
        response.headers["cache-control"] = "no-cache"
        return await _conditional(response)

    @app.get("/problems")
    async def list_problems() -> Response:
        return await responses.show("problems.html", problems=problems)

    @app.get("/problems/<code>")
    async def explain_problem(code: str) -> Response:
        if code not in explained:
            raise NotFound("This code is not known: the page of problems lists every code.")
        problem = explained[code]
        phrase = HTTPStatus(problem.status).phrase
        return await responses.show("problem.html", problem=problem, phrase=phrase)

    def serve_file(file: StaticFile, path: str, cache_control: str) -> None:
        packed = gzip.compress(file.content, mtime=0)

        async def send() -> Response:
            response = _packed(file.content, packed, file.media_type)
            response.headers["cache-control"] = cache_control
            return await _conditional(response)

        app.add_url_rule(path, path, send)

    serve_file(style, style.path, FOREVER)
    serve_file(icon, icon.path, FOREVER)
    # Browsers request this path when the response is not a page, such as the API document.
    serve_file(icon, "/favicon.ico", "public, max-age=86400")

    @app.errorhandler(HTTPException)
    async def refuse(error: HTTPException) -> Response:
        return await refusal(as_problem(error), public_url, perform)

    @app.errorhandler(Problem)
    async def refuse_problem(problem: Problem) -> Response:
        if isinstance(problem, NotSignedIn) and request.method in ("GET", "HEAD", "POST"):
            return responses.sign_in_first()
        if isinstance(problem, ConsentRequired):
            return responses.consent_first()
        if isinstance(problem, WrongOrigin):
            responses.report(problem.code)
            shown = app.url_map.bind("").test(request.path, "GET")
            address = public_url + (
                request.full_path.rstrip("?") if shown else responses.page_of_form()
            )
            return await responses.show("other_origin.html", status=problem.status, address=address)
        if isinstance(problem, AccountLocked):
            responses.report(problem.code)
            return await responses.show("locked.html", status=problem.status)
        return await refusal(problem, public_url, perform)

    @app.after_request
    async def add_headers(response: Response) -> Response:
        for name, value in _HEADERS:
            # A page may have a policy of its own.
            response.headers.setdefault(name, value)
        response.headers.setdefault("cache-control", "no-store")
        return response

    return app


async def _conditional(response: Response) -> Response:
    """Return a response, or that the client has it already (RFC 9110 section 13.1.2)."""
    await response.add_etag()
    etag, _ = response.get_etag()
    try:
        tags = parse_entity_tags(request.headers.get("if-none-match", ""))
    except ValueError:
        return response
    if etag is not None and tags.names_weakly(etag):
        response.set_data(b"")
        response.status_code = HTTPStatus.NOT_MODIFIED
        del response.headers["content-length"]
    return response


def _packed(content: bytes, packed: bytes, media_type: str) -> Response:
    """Return ``content``, compressed for a client that accepts it.

    Only what is the same for everybody is compressed: the length of a compressed page would reveal
    something about its secrets.
    """
    accepted = localized.accepts_gzip(request.headers.get("accept-encoding", ""))
    response = Response(packed if accepted else content, content_type=media_type)
    response.headers["vary"] = "accept-encoding"
    if accepted:
        response.headers["content-encoding"] = "gzip"
    return response
