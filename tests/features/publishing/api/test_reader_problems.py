"""What readers see when a request is refused: a page, where their browser asks for one."""

import pytest
from octavo_rules.problems import (
    BodyTimeout,
    BodyTooLarge,
    InternalError,
    InvalidRequest,
    Problem,
    RateLimited,
    ServerBusy,
    UnsupportedMediaType,
)

from octavo.features.publishing.api.reader_problems import reader_problems
from tests.fakes.asgi_client import Headers, ask
from tests.fakes.notes_api import NotesApi

FORM = (b"content-type", b"application/x-www-form-urlencoded")
BROWSER = (b"accept", b"text/html,application/xhtml+xml,*/*;q=0.8")


async def report(api: NotesApi, *headers: tuple[bytes, bytes]) -> tuple[int, str | None, str]:
    given: Headers = [FORM, *headers]
    body = [b"reason=boring"]
    response = await ask(api.application, "POST", "/published/x/report", headers=given, body=body)
    return response.status, response.header("content-type"), response.body.decode()


async def test_browser_gets_a_page_and_a_program_a_problem(api: NotesApi) -> None:
    status, media_type, page = await report(api, BROWSER)
    assert (status, media_type) == (400, "text/html; charset=utf-8")
    assert "<h1>That did not work</h1>" in page
    assert "Choose what is wrong with the page" in page
    status, media_type, _ = await report(api)
    assert (status, media_type) == (400, "application/problem+json")


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (RateLimited(retry_after=1), "Try again in a few seconds."),
        (RateLimited(retry_after=30), "Try again in 30 seconds."),
        (RateLimited(retry_after=121), "Try again in 3 minutes."),
        (BodyTooLarge(), "Shorten it"),
        (BodyTimeout(), "Send it again"),
        (InternalError(), "a fault of the service"),
        (ServerBusy(), "Wait a few seconds"),
        (UnsupportedMediaType(), "That did not work"),
        (InvalidRequest(errors=[("/note", "Too <long>.")]), "Too &lt;long&gt;."),
    ],
)
async def test_every_problem_has_its_words(api: NotesApi, problem: Problem, words: str) -> None:
    pages = await api.publishing.pages()
    page = reader_problems(lambda: pages)(problem, "made-here")
    assert page is not None
    assert words in page.decode()
    assert "made-here" in page.decode()


def test_there_is_no_page_before_the_templates_are_loaded() -> None:
    assert reader_problems(lambda: None)(InternalError(), "x") is None
