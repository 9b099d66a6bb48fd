"""The router against a reference that tries every template in turn."""

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.contract.operation import ContractError
from octavo.http.contract.router import Router

# Few names, so that templates and paths coincide.
SEGMENTS = st.sampled_from(["a", "b", "api", "x-1"])
TEMPLATES = st.lists(
    st.lists(SEGMENTS | st.sampled_from(["{p}", "{qId}"]), min_size=1, max_size=4).map(
        lambda segments: "/" + "/".join(segments)
    ),
    unique_by=lambda template: template.replace("{p}", "{}").replace("{qId}", "{}"),
    max_size=12,
)
PATHS = st.lists(
    SEGMENTS.map(lambda segment: segment.replace("a", "%61"))
    | SEGMENTS
    | st.text(max_size=3).map(lambda text: quote(text, safe="")),
    max_size=5,
).map(lambda segments: "/" + "/".join(segments))


def reference(templates: list[str], path: str) -> tuple[str | None, list[str]]:
    """The matching template that is static furthest to the left."""
    segments = [unquote(segment) for segment in path.split("/")]
    matching = []
    for template in templates:
        pattern = template.split("/")
        if len(pattern) == len(segments) and all(
            segment if wanted.startswith("{") else segment == wanted
            for wanted, segment in zip(pattern[1:], segments[1:], strict=True)
        ):
            matching.append(([part.startswith("{") for part in pattern], template))
    if not matching:
        return None, []
    template = min(matching)[1]
    parts = zip(template.split("/"), segments, strict=True)
    return template, [segment for part, segment in parts if part.startswith("{")]


def found(router: Router[str], path: str) -> tuple[str | None, list[str]]:
    resource, values = router.find(path.encode())
    return (None if resource is None else resource.methods["GET"]), values


@given(templates=TEMPLATES, path=PATHS)
def test_find_agrees_with_trying_every_template(templates: list[str], path: str) -> None:
    router = Router(("GET", template, template) for template in templates)
    assert found(router, path) == reference(templates, path)


@given(templates=TEMPLATES, data=st.data())
def test_find_path_made_from_a_template_returns_the_values(
    templates: list[str], data: st.DataObject
) -> None:
    if not templates:
        return
    template = data.draw(st.sampled_from(templates))
    text = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
    values = [data.draw(text) for part in template.split("/") if part.startswith("{")]
    rest = iter(values)
    path = "/".join(
        quote(next(rest), safe="") if part.startswith("{") else part for part in template.split("/")
    )
    router = Router([("GET", template, template)])
    assert found(router, path) == (template, values)


@pytest.mark.parametrize(
    "path", ["", "a", "*", "/a/", "//a", "/a//", "/A", "/a/b", "/%FF", "/p/", "/p/x/", "/p/%"]
)
def test_find_other_path_finds_nothing(path: str) -> None:
    router = Router([("GET", "/a", "a"), ("GET", "/p/{name}/end", "p")])
    assert found(router, path) == (None, [])


def test_find_encoded_slash_does_not_split_a_segment() -> None:
    router = Router([("GET", "/p/{name}", "p"), ("GET", "/p/{name}/{other}", "q")])
    assert found(router, "/p/a%2Fb") == ("p", ["a/b"])


def test_find_decodes_any_octet() -> None:
    router = Router([("GET", "/p/{name}", "p")])
    assert found(router, "/p/%00%FFa") == ("p", ["\0\ufffda"])
    assert found(router, "/%FF/a") == (None, [])


def test_resource_has_the_methods_of_its_template() -> None:
    entries = [("GET", "/a", 1), ("PUT", "/a", 2), ("POST", "/b", 3)]
    router = Router(entries)
    a, b = router.find(b"/a")[0], router.find(b"/b")[0]
    assert a is not None
    assert b is not None
    assert (a.methods, a.allow) == ({"GET": 1, "HEAD": 1, "PUT": 2}, b"GET, HEAD, OPTIONS, PUT")
    assert (b.methods, b.allow) == ({"POST": 3}, b"OPTIONS, POST")


@pytest.mark.parametrize(
    "template", ["", "a", "/a/", "//", "/a b", "/{}", "/{a-b}", "/x{a}", "/%61", "/ä"]
)
def test_router_malformed_template_is_refused(template: str) -> None:
    with pytest.raises(ContractError, match=r"must start with a slash|is not a valid segment"):
        Router([("GET", template, 1)])
