"""The pages of the legal documents."""

from collections.abc import Mapping

import pytest

from octavo.features.legal.api import LegalOperations, LegalTextPage
from octavo.features.legal.pages import legal_pages
from octavo.features.legal.rules import DocumentName, LegalText, LegalTexts
from octavo.http.contract.application import Application
from octavo.http.contract.openapi import openapi_document
from octavo.http.contract.prepared_response import PAGE_HEADERS
from tests.fakes.asgi_client import Response, ask

LEGAL = LegalTexts(
    LegalText("1", "https://notes.example/legal/terms"),
    LegalText("2", "https://elsewhere.example/privacy"),
)
PAGES = legal_pages({"terms": "<h1>Our terms</h1>"}, LEGAL, "https://notes.example")


async def get(path: str, *headers: tuple[bytes, bytes], method: str = "GET") -> Response:
    async def pages() -> Mapping[DocumentName, LegalTextPage]:
        return PAGES

    application = Application(
        [LegalOperations(pages)],
        new_id=lambda: "made-here",
        log_request=lambda _: None,
        strict=True,
    )
    return await ask(application, method, path, headers=headers)


async def test_document_is_a_page_that_browsers_check_again() -> None:
    response = await get("/legal/terms")
    assert response.status == 200
    assert response.header("content-type") == "text/html; charset=utf-8"
    assert response.header("cache-control") == "private, no-cache"
    assert response.header("content-length") == str(len(response.body))
    for name, value in PAGE_HEADERS:
        assert response.header(name.decode()) == value.decode()
    text = response.body.decode()
    assert '<article class="prose">\n<h1>Our terms</h1>\n</article>' in text
    assert "<title>Terms \N{EN DASH} Octavo</title>" in text
    assert '<a href="https://notes.example/legal/terms">Terms</a>' in text
    assert '<a href="https://elsewhere.example/privacy">Privacy notice</a>' in text
    assert "<script" not in text
    assert text.count('<link rel="stylesheet" href="/static/octavo-') == 1


async def test_head_of_a_document_has_no_content() -> None:
    response = await get("/legal/terms", method="HEAD")
    assert (response.status, response.body) == (200, b"")
    assert response.header("content-length") == str(len(PAGES["terms"].html))


@pytest.mark.parametrize("given", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
async def test_known_version_is_not_sent_again(given: str) -> None:
    tag = given.format(PAGES["terms"].etag).encode()
    response = await get("/legal/terms", (b"if-none-match", tag))
    assert (response.status, response.body) == (304, b"")
    assert response.header("etag") == f'"{PAGES["terms"].etag}"'
    assert response.header("cache-control") == "private, no-cache"


async def test_other_version_is_sent() -> None:
    assert (await get("/legal/terms", (b"if-none-match", b'"other"'))).status == 200
    refused = await get("/legal/terms", (b"if-none-match", b"other"))
    assert (refused.status, refused.code) == (400, "invalid_request")


async def test_document_that_is_not_shown_here_is_missing() -> None:
    response = await get("/legal/privacy")
    assert (response.status, response.code) == (404, "not_found")
    assert response.header("cache-control") == "no-store"


async def test_other_documents_do_not_match_the_contract() -> None:
    assert (await get("/legal/imprint")).code == "invalid_request"


def test_pages_of_different_documents_have_different_tags() -> None:
    first, second = (
        legal_pages({"terms": html}, LEGAL, "https://notes.example")["terms"] for html in ("a", "b")
    )
    assert first.etag != second.etag


def test_contract_has_the_page() -> None:
    described = openapi_document([LegalOperations], title="Octavo", version="1")
    paths = described["paths"]
    assert isinstance(paths, dict)
    found = paths["/legal/{document}"]["get"]
    assert found["security"] == []
    assert found["tags"] == ["legal"]
    assert found["responses"]["200"]["content"] == {
        "text/html; charset=utf-8": {"schema": {"type": "string"}}
    }
    assert "content" not in found["responses"]["304"]
