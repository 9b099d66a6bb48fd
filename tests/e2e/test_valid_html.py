"""Every page is valid HTML, small, and complete without its style."""

import re
from collections.abc import Iterator

import pytest

from tests.e2e.browser import missing as no_browser
from tests.e2e.browsing import PAGES, PageSite, page_site
from tests.html_validate.validating import faults_of, missing

REASON = missing() or no_browser()
LARGEST = 60_000
"""Bytes of a page, without its style sheet and images."""
LONG = {"/api/docs"}
"""The documentation of every operation."""


@pytest.fixture(scope="module")
def texts() -> Iterator[dict[str, str]]:
    """The HTML of every page, by who opens it and its path."""
    if REASON is not None:
        pytest.skip(REASON)
    with page_site() as site:
        yield {f"{person} {path}": html_of(site, person, path) for person, path in PAGES}


def html_of(site: PageSite, person: str, path: str) -> str:
    headers = {"accept": "text/html"}
    if person:
        headers["cookie"] = f"__Host-octavo={site.people[person].cookie}"
    response = site.http.get(site.path(path), headers=headers, follow_redirects=True)
    assert response.headers["content-type"].startswith("text/html"), path
    return response.text


def test_every_page_is_valid(texts: dict[str, str]) -> None:
    assert faults_of(texts) == {}


@pytest.mark.parametrize(
    "fault",
    [
        "<p><div>b</div></p>",
        '<table><tr><td align="right">b</td></tr></table>',
    ],
)
def test_validation_sees_a_fault(fault: str) -> None:
    if REASON is not None:
        pytest.skip(REASON)
    assert faults_of({"a": f"<!doctype html><title>A</title>{fault}"})["a"]


@pytest.mark.parametrize(
    "fault",
    [
        # A term without a description (HTML Living Standard, section 4.4.9).
        r"</dt>\s*(?!<d[dt]\b)\S",
        # Parts of tables with roles (ARIA in HTML, section 4).
        r"<(table|thead|tbody|tr|th|td)\b[^>]*\srole=",
    ],
)
def test_no_page_has_what_html_validate_allows(texts: dict[str, str], fault: str) -> None:
    assert {name for name, html in texts.items() if re.search(fault, html)} == set()


def test_every_page_is_small(texts: dict[str, str]) -> None:
    sizes = {name: len(html.encode()) for name, html in texts.items()}
    large = {name: size for name, size in sizes.items() if size > LARGEST}
    assert {name for name in large if name.partition(" ")[2] not in LONG} == set()
