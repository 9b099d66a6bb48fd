"""The pages: HTML without scripts, refusals in the requested format, failures logged."""

import gzip
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NoReturn, cast
from xml.etree import ElementTree

import pytest
import trio
from antechamber.asgi import Application, Event, Scope
from octavo_rules.problems import NotFound, Problem, RateLimited
from quart.typing import TestAppProtocol as Running
from quart_trio import QuartTrio

from octavo.http.contract.openapi import openapi_document
from octavo.http.contract.prepared_response import PAGE_HEADERS
from octavo.http.pages.kept_forms import Resubmissions
from octavo.http.pages.static_files import shortened, static_file, style_sheet
from octavo.model.usage import DownloadLimitReached
from octavo.service.features import FEATURES
from octavo.service.health import ServiceOperations
from octavo.service.pages import FOREVER, pages
from octavo.service.registry import api_document
from octavo.templates import FOLDER, ICON, STYLE_SHEET, folder_of
from tests.fakes.example_contract import ShelfOperations
from tests.fakes.page_reader import form_stamps, no_entropy, no_time, nobody

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
PROBLEM = "application/problem+json"
STYLE = style_sheet().path
ICON_PATH = static_file(ICON, "image/svg+xml").path
ADDRESSES = ["/", "/api/docs", "/problems", "/problems/not_found", "/problems/unknown", "/nowhere"]


class Unexplained(Problem):
    """A problem without a remedy."""

    status, code, summary = 409, "unexplained", "It is so."


class Resources(HTMLParser):
    """The scripts and resources that a page loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.loaded: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.scripts += [tag] if tag == "script" else []
        self.scripts += [name for name, _ in attributes if name.startswith("on") or name == "style"]
        self.loaded += [value for name, value in attributes if name == "src"]
        self.loaded += [value for name, value in attributes if name == "href" and tag == "link"]


class Anchors(HTMLParser):
    """The targets of a page's links, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.all_ids: list[str] = []
        self.feed(text)
        self.ids = set(self.all_ids)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.targets += [value or "" for name, value in attributes if (tag, name) == ("a", "href")]
        self.all_ids += [value or "" for name, value in attributes if name == "id"]


def make() -> QuartTrio:
    """The pages, and below /test whatever can fail on one."""
    app = pages(
        api_document="/api/openapi.json",
        openapi=lambda: openapi_document(
            [ServiceOperations, ShelfOperations], title="Octavo", version="1"
        ),
        problems=[NotFound, Unexplained],
        public_url="https://octavo.example",
        perform=nobody,
        now=no_time,
        new_entropy=no_entropy,
        stamps=form_stamps(),
    )

    @app.get("/test/failure")
    async def fail() -> NoReturn:
        raise ValueError("the reason")

    @app.get("/test/group/<int:size>")
    async def fail_together(size: int) -> NoReturn:
        raise BaseExceptionGroup("both", [NotFound(), ValueError("the reason")][:size])

    @app.get("/test/problem")
    async def refuse() -> NoReturn:
        raise RateLimited("<b>later</b>", retry_after=7)

    @app.get("/test/limit")
    async def refuse_for_a_month() -> NoReturn:
        raise DownloadLimitReached(limit="account-download-bytes", retry_after=7)

    return app


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with make().test_app() as app:
        yield app


async def ask(
    app: Running, path: str, method: str = "GET", accept: str = BROWSER, data: bytes = b""
) -> tuple[int, dict[str, str], str]:
    headers = {"accept": accept, "x-request-id": "r-1"}
    client = app.test_client()
    send = client.post if method == "POST" else client.get
    response = await send(path, headers=headers, data=data)
    text = await response.get_data(as_text=True)
    assert isinstance(text, str)
    return response.status_code, {name.lower(): value for name, value in response.headers}, text


async def test_index_links_the_api_document(running: Running) -> None:
    status, headers, text = await ask(running, "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert '<a href="/api/openapi.json">' in text
    assert '<a href="/api/docs">' in text


async def test_index_mentions_only_what_exists(running: Running) -> None:
    _, _, text = await ask(running, "/")
    assert "It keeps notes in workspaces" in text


@pytest.mark.parametrize("path", ADDRESSES)
async def test_page_has_no_script_and_loads_only_the_style_sheet_and_the_icon(
    running: Running, path: str
) -> None:
    _, _, text = await ask(running, path)
    resources = Resources(text)
    assert resources.scripts == []
    assert resources.loaded == [ICON_PATH, STYLE]


@pytest.mark.parametrize("accept", [BROWSER, PROBLEM])
@pytest.mark.parametrize("path", [*ADDRESSES, STYLE, ICON_PATH, "/favicon.ico", "/test/failure"])
async def test_response_has_the_headers_of_pages_once(
    running: Running, path: str, accept: str
) -> None:
    response = await running.test_client().get(path, headers={"accept": accept})
    for name, value in PAGE_HEADERS:
        assert response.headers.getlist(name.decode()) == [value.decode()]


@pytest.mark.parametrize("path", sorted({*ADDRESSES, "/test/failure"} - {"/api/docs"}))
async def test_page_is_not_stored_and_sets_no_cookie(running: Running, path: str) -> None:
    _, headers, _ = await ask(running, path)
    assert headers["cache-control"] == "no-store"
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    ("path", "media_type", "cache_control"),
    [
        (STYLE, "text/css; charset=utf-8", FOREVER),
        (ICON_PATH, "image/svg+xml", FOREVER),
        ("/favicon.ico", "image/svg+xml", "public, max-age=86400"),
    ],
)
async def test_file_is_cached_and_revalidated(
    running: Running, path: str, media_type: str, cache_control: str
) -> None:
    status, headers, _ = await ask(running, path)
    assert (status, headers["content-type"]) == (200, media_type)
    assert headers["cache-control"] == cache_control
    again = await running.test_client().get(path, headers={"if-none-match": headers["etag"]})
    assert (again.status_code, await again.get_data()) == (304, b"")


@pytest.mark.parametrize("path", [STYLE, ICON_PATH, "/api/docs"])
async def test_what_is_the_same_for_everybody_is_compressed(running: Running, path: str) -> None:
    client = running.test_client()
    plain = await (await client.get(path)).get_data()
    response = await client.get(path, headers={"accept-encoding": "br, gzip;q=0.5"})
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["vary"] == "accept-encoding"
    packed = await response.get_data()
    assert isinstance(packed, bytes)
    assert gzip.decompress(packed) == plain
    other = await client.get(path, headers={"accept-encoding": "gzip;q=0"})
    assert "content-encoding" not in other.headers


def test_path_of_a_file_changes_with_its_content(tmp_path: Path) -> None:
    file = tmp_path / "octavo.css"
    paths = set()
    for content in ("a", "b", "a"):
        file.write_text(content)
        paths.add(static_file(file, "text/css").path)
    assert len(paths) == 2


def test_style_sheet_is_small_and_loads_nothing() -> None:
    text = style_sheet().content.decode()
    assert len(text.encode()) < 20_480
    assert not re.search(r"url\(|@import", text)


def test_style_sheet_is_shortened_without_a_change_of_meaning() -> None:
    style = """/* A comment. */
    a > b, c {
      margin: calc(1rem - 2px) 0; content: "a b"
    }
    @media (max-width: 40rem) {
      .x:not(.y) .z {color: red}
    }
    """
    assert shortened(style) == (
        'a > b,c{margin:calc(1rem - 2px) 0;content:"a b"}'
        "@media (max-width: 40rem){.x:not(.y) .z{color:red}}"
    )


def test_style_sheet_has_every_class_of_the_templates() -> None:
    used = {
        name
        for folder in (FOLDER, *(folder_of(feature.name) for feature in FEATURES))
        for template in folder.rglob("*.html")
        for names in re.findall(r'class="([a-z -]+)"', template.read_text())
        for name in names.split()
    }
    known = set(re.findall(r"\.([a-z-]+)", STYLE_SHEET.read_text()))
    assert used - known == set()
    assert {"card", "button", "message"} <= used


def test_templates_of_features_are_found_by_their_names() -> None:
    environment = make().jinja_env
    names = {
        f"{feature.name}/{template.relative_to(folder_of(feature.name)).as_posix()}"
        for feature in FEATURES
        for template in folder_of(feature.name).rglob("*.html")
    }
    assert {"accounts/keys.html", "publishing/published/note.html"} < names
    assert names <= {*environment.list_templates()}


def test_icon_is_small_and_has_no_script() -> None:
    root = ElementTree.fromstring(ICON.read_text())
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "rect", "path"}
    assert len(ICON.read_bytes()) < 1000


@pytest.mark.parametrize("path", ADDRESSES)
async def test_page_has_a_title_one_heading_landmarks_and_a_way_back(
    running: Running, path: str
) -> None:
    _, _, text = await ask(running, path)
    assert re.findall(r"<title>(.*)</title>", text)[0].endswith("Octavo")
    assert text.count("<h1>") == text.count("<main") == text.count("<header") == 1
    assert '<a class="skip" href="#main">' in text
    assert '<a class="mark" href="/">' in text


@pytest.mark.parametrize(("path", "current"), [("/", 0), ("/problems", 1), ("/api/docs", 1)])
async def test_page_marks_the_current_location(running: Running, path: str, current: int) -> None:
    _, _, text = await ask(running, path)
    assert text.count('aria-current="page"') == current


async def test_problem_page_has_a_meaning_and_a_remedy(running: Running) -> None:
    _, _, text = await ask(running, "/problems/not_found")
    shown = unescape(text)
    assert NotFound.summary in shown
    assert f"<h2>What to do</h2>\n<p>{NotFound.remedy}</p>" in shown


async def test_long_code_may_be_broken_after_underscores(running: Running) -> None:
    _, _, text = await ask(running, "/problems/not_found")
    assert "<h1>not_<wbr>found</h1>" in text


async def test_problem_page_without_a_remedy_mentions_none(running: Running) -> None:
    status, _, text = await ask(running, "/problems/unexplained")
    assert (status, "What to do" in text) == (200, False)


async def test_api_page_is_cached_by_the_browser_and_revalidated(running: Running) -> None:
    status, headers, text = await ask(running, "/api/docs")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (headers["cache-control"], "<wbr>/api<wbr>/shelves" in text) == ("no-cache", True)
    again = await running.test_client().get("/api/docs", headers={"if-none-match": headers["etag"]})
    assert (again.status_code, await again.get_data()) == (304, b"")


def pages_of(contract: Mapping[str, object]) -> QuartTrio:
    """The pages of an API."""
    return pages(
        api_document="/api/openapi.json",
        openapi=lambda: contract,
        perform=nobody,
        now=no_time,
        new_entropy=no_entropy,
        stamps=form_stamps(),
    )


async def test_api_page_escapes_the_words_of_the_contract() -> None:
    described = openapi_document([ShelfOperations], title="<b>Octavo</b>", version="1")
    async with pages_of(described).test_app() as app:
        _, _, text = await ask(app, "/api/docs")
    assert "&lt;b&gt;Octavo&lt;/b&gt; API" in text
    assert "<b>" not in text


async def test_api_page_shows_no_markup_and_no_empty_list() -> None:
    async with pages_of(api_document()).test_app() as app:
        _, _, text = await ask(app, "/api/docs")
    assert "`" not in text
    assert "[&#39;" not in text
    assert re.search(r"<h4>Response 400 Bad Request <span", text)
    assert not re.search(r"<ul[^>]*>\s*</ul>", text)


async def test_pages_can_be_started_again_and_a_start_that_fails_says_why() -> None:
    app = pages_of(openapi_document([ShelfOperations], title="Octavo", version="1"))
    for _ in range(2):
        async with app.test_app() as running:
            assert (await ask(running, "/api/docs"))[0] == 200

    @app.before_serving
    async def fail() -> None:
        raise ValueError("the reason")

    sent: list[Event] = []

    async def receive() -> Event:
        kind = "shutdown" if sent else "startup"
        return {"type": f"lifespan.{kind}"}

    async def send(event: Event) -> None:
        sent.append(event)

    lifespan = cast(Application, app)
    await lifespan({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)
    assert sent[0] == {"type": "lifespan.startup.failed", "message": "the reason"}


async def test_responses_to_forms_are_dropped_while_pages_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began, ended = trio.Event(), trio.Event()

    async def run(self: object) -> None:
        began.set()
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    monkeypatch.setattr(Resubmissions, "run", run)
    async with pages_of(
        openapi_document([ShelfOperations], title="Octavo", version="1")
    ).test_app():
        with trio.fail_after(5):
            await began.wait()
        assert not ended.is_set()
    assert ended.is_set()


async def test_api_page_links_have_targets(running: Running) -> None:
    _, _, text = await ask(running, "/api/docs")
    anchors = Anchors(text)
    local = {target.removeprefix("#") for target in anchors.targets if target.startswith("#")}
    assert local
    assert local <= anchors.ids
    assert len(anchors.all_ids) == len(anchors.ids)
    others = {target for target in anchors.targets if not target.startswith("#")}
    assert "/problems/not_found" in others
    assert all(target.startswith("/") for target in others)


async def test_problem_type_links_to_its_page(running: Running) -> None:
    _, _, refused = await ask(running, "/nowhere", accept=PROBLEM)
    address = json.loads(refused)["type"].removeprefix("https://octavo.example")
    status, _, text = await ask(running, address)
    assert (status, NotFound.summary in text) == (200, True)


@pytest.mark.parametrize(
    ("path", "method", "data", "status", "code"),
    [
        ("/nowhere", "GET", b"", 404, "not_found"),
        ("/problems/unknown", "GET", b"", 404, "not_found"),
        ("/", "POST", b"", 405, "method_not_allowed"),
        ("/test/problem", "GET", b"", 429, "rate_limited"),
        ("/test/failure", "GET", b"", 500, "internal_error"),
    ],
)
async def test_refusal_is_a_page_for_browsers_and_a_document_for_programs(
    running: Running, path: str, method: str, data: bytes, status: int, code: str
) -> None:
    received, headers, text = await ask(running, path, method, BROWSER, data)
    assert (received, headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "r-1" in text
    assert f"Status {status}," in text
    received, headers, text = await ask(running, path, method, PROBLEM, data)
    assert (received, headers["content-type"]) == (status, PROBLEM)
    document = json.loads(text)
    assert (document["status"], document["code"]) == (status, code)
    assert document["requestId"] == "r-1"
    assert "accept" in headers["vary"]


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (BROWSER, "text/html; charset=utf-8"),
        ("", "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
        ("image/*", "text/html; charset=utf-8"),
        ("application/json", PROBLEM),
        (PROBLEM, PROBLEM),
        ("application/json, */*;q=0.1", PROBLEM),
        ("text/html;q=0.5, application/json", PROBLEM),
        ("text/html, application/json;q=0.5", "text/html; charset=utf-8"),
        ("not a media type", "text/html; charset=utf-8"),
    ],
)
async def test_refusal_is_in_the_preferred_format(
    running: Running, accept: str, media_type: str
) -> None:
    _, headers, _ = await ask(running, "/nowhere", accept=accept)
    assert headers["content-type"] == media_type


async def test_refusal_keeps_the_headers_of_its_problem(running: Running) -> None:
    _, headers, _ = await ask(running, "/test/problem")
    assert headers["retry-after"] == "7"


async def test_refusal_of_a_method_lists_the_allowed_ones(running: Running) -> None:
    _, headers, _ = await ask(running, "/", "POST")
    assert headers["allow"] == "GET, HEAD, OPTIONS"


async def test_limit_of_a_month_is_not_called_attempts(running: Running) -> None:
    _, _, text = await ask(running, "/test/limit")
    assert "<h1>You have read as much as you may</h1>" in text


async def test_text_on_a_page_is_escaped(running: Running) -> None:
    _, _, text = await ask(running, "/test/problem")
    assert "&lt;b&gt;later&lt;/b&gt;" in text


@pytest.mark.parametrize("path", ["/test/failure", "/test/group/2"])
async def test_failure_is_logged_once_with_the_request_and_not_shown(
    running: Running, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        status, _, text = await ask(running, path)
    assert (status, "the reason" in text, "ValueError" in text) == (500, False, False)
    [record] = caplog.records
    assert (record.levelname, record.getMessage()) == ("ERROR", "request r-1 failed")
    assert record.exc_info is not None
    failure = record.exc_info[1]
    if isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[1]
    assert repr(failure) == "ValueError('the reason')"


async def test_problem_as_the_only_member_of_a_group_is_unwrapped(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    status, _, _ = await ask(running, "/test/group/1")
    assert (status, caplog.records) == (404, [])


async def test_responses_have_no_timeout() -> None:
    # Quart would end one at its timeout as if it were complete.
    assert make().config["RESPONSE_TIMEOUT"] is None


async def test_pages_are_an_asgi_application_with_a_lifespan() -> None:
    app = cast("Application", make())
    to_app, from_tester = trio.open_memory_channel[Event](1)
    to_tester, from_app = trio.open_memory_channel[Event](1)
    lifespan: Scope = {"type": "lifespan", "asgi": {"spec_version": "2.0", "version": "3.0"}}
    scope: Scope = {
        "type": "http",
        "asgi": {"spec_version": "2.1", "version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"octavo.example")],
        "client": None,
        "server": None,
        "extensions": {},
    }
    sent: list[Event] = []
    request_body = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Event:
        for event in request_body:
            return event
        await trio.sleep_forever()
        raise AssertionError

    async def send(event: Event) -> None:
        sent.append(event)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(app, lifespan, from_tester.receive, to_tester.send)
            await to_app.send({"type": "lifespan.startup"})
            assert (await from_app.receive())["type"] == "lifespan.startup.complete"
            await app(scope, receive, send)
            await to_app.send({"type": "lifespan.shutdown"})
            assert (await from_app.receive())["type"] == "lifespan.shutdown.complete"
    start, *rest = sent
    assert start["status"] == 200
    names = [name for name, _ in start["headers"]]
    assert names == [name.lower() for name in names]
    assert b"".join(event.get("body", b"") for event in rest).startswith(b"<!doctype html>")
