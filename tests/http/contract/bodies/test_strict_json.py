"""Invalid JSON that the fast parser accepts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from octavo.http.contract.bodies.json_body import NotStrict, check_strict

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def pointers(text: str) -> list[str]:
    with pytest.raises(NotStrict) as refusal:
        check_strict(text)
    return [received for received, _ in refusal.value.errors]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a":1,"a":2}', ["/a"]),
        ('{"a":1,"\\u0061":1}', ["/a"]),
        ('{"a":1,"a":2,"a":3}', ["/a"]),
        ('[{"a":{"b":1,"c":2,"b":{}}}]', ["/0/a/b"]),
        ('{"a":[1],"a/b":[2,{"x":1,"x":1}]}', ["/a~1b/1/x"]),
        ('{"":1,"":1}', ["/"]),
        ("NaN", [""]),
        ("[0,-Infinity]", ["/1"]),
        ('{"a":{"b":Infinity}}', ["/a/b"]),
        ('{"a":1e400,"b":-1e400}', ["/a", "/b"]),
        (' \n[NaN,{"a":1,"a":1}]', ["/0", "/1/a"]),
    ],
)
def test_invalid_json_is_refused_with_its_path(text: str, where: list[str]) -> None:
    # The point of the check: the parser of the bodies accepts all of them.
    from_json(text)
    assert pointers(text) == where


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"A":1,"a ":1}',
        '[{"a":1},{"a":1}]',
        '{"a":{"a":{"a":"a"}}}',
        '{"a":"NaN","b":"Infinity: 1e400"}',
        "[1e308,1e-400,0.1]",
        " \t\r\n{} ",
        "9" * 4300,
    ],
)
def test_valid_json_passes(text: str) -> None:
    from_json(text)
    check_strict(text)


@given(VALUES, st.booleans())
def test_json_of_any_value_passes(value: object, escaped: bool) -> None:
    check_strict(json.dumps(value, ensure_ascii=escaped))


@given(VALUES, st.text(), VALUES, VALUES)
def test_a_duplicate_member_is_found_anywhere(
    around: object, name: str, first: object, second: object
) -> None:
    spelled = json.dumps(name)
    twice = f"{{{spelled}:{json.dumps(first)},{spelled}:{json.dumps(second)}}}"
    with pytest.raises(NotStrict):
        check_strict(f"[{json.dumps(around)},{twice}]")
