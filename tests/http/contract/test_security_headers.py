"""The restrictions that every response imposes on a browser."""

import pytest

from octavo.http.contract.prepared_response import API_HEADERS, PAGE_HEADERS, Headers


def policy(headers: Headers) -> dict[str, str]:
    """The directives of the content security policy."""
    text = dict(headers)[b"content-security-policy"].decode()
    return {
        name: value for name, _, value in (one.strip().partition(" ") for one in text.split(";"))
    }


@pytest.mark.parametrize("headers", [API_HEADERS, PAGE_HEADERS], ids=["api", "page"])
def test_headers_are_asgi_headers_each_once(headers: Headers) -> None:
    names = [name for name, _ in headers]
    assert names == [name.lower() for name in names]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("headers", [API_HEADERS, PAGE_HEADERS], ids=["api", "page"])
def test_headers_forbid_script_frames_sniffing_and_embedding(headers: Headers) -> None:
    directives = policy(headers)
    assert directives["default-src"] == directives["frame-ancestors"] == "'none'"
    assert "script-src" not in directives
    assert dict(headers)[b"x-content-type-options"] == b"nosniff"
    assert dict(headers)[b"cross-origin-resource-policy"] == b"same-origin"


def test_headers_of_pages_allow_only_their_own_style_images_and_forms() -> None:
    allowed = {name: value for name, value in policy(PAGE_HEADERS).items() if value != "'none'"}
    assert allowed == {"style-src": "'self'", "img-src": "'self'", "form-action": "'self'"}


def test_headers_of_pages_keep_the_origin_of_their_forms() -> None:
    # Under no-referrer a browser sends the forms of a page with "origin: null".
    assert dict(PAGE_HEADERS)[b"referrer-policy"] == b"same-origin"
