"""Front matter of Markdown texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.render.front_matter import end_of_front_matter, split_front_matter


@pytest.mark.parametrize(
    ("text", "entries", "body"),
    [
        ("---\nversion: 3\n---\n# Terms\n", {"version": "3"}, "# Terms\n"),
        ("---\nversion: '3 # 4'\n...\ntext", {"version": "3 # 4"}, "text"),
        ("---\nversion: 3\n---", {"version": "3"}, ""),
        ("---  \r\nversion: 3 \r\n---\r\ntext\r\n", {"version": "3"}, "text\n"),
        ("\ufeff---\nversion: 3\n---\ntext", {"version": "3"}, "text"),
        ("---\ntags:\n  - a\n- b\nno entry\n---\ntext", {"tags": ""}, "text"),
        ("---\nversion:3\n---\ntext", {}, "text"),
        ("---\nversion: 3\nversion: 4\n---\ntext", {"version": "4"}, "text"),
        ("---\n---\ntext", {}, "text"),
        ("---\nversion: 3\ntext", {}, "---\nversion: 3\ntext"),
        ("\n---\nversion: 3\n---\n", {}, "\n---\nversion: 3\n---\n"),
        ("----\nversion: 3\n---\n", {}, "----\nversion: 3\n---\n"),
        ("", {}, ""),
    ],
)
def test_front_matter_is_split_from_the_text(text: str, entries: dict[str, str], body: str) -> None:
    found = split_front_matter(text)
    assert found == (entries, body)


def test_values_end_at_a_comment() -> None:
    found = split_front_matter('---\nversion: "2026-05"\ntitle: Our terms # draft\nnote: #x\n---\n')
    assert found.entries == {"version": "2026-05", "title": "Our terms", "note": ""}


@given(st.text("-.\nab: #'\"\t", max_size=40))
def test_the_body_is_the_end_of_any_text(text: str) -> None:
    assert text.endswith(split_front_matter(text).body)


@given(
    st.lists(st.sampled_from(["---", "\n", "\r\n", "\r", "a: b", "...", "\ufeff", " "])).map(
        "".join
    )
)
def test_the_end_is_where_the_body_begins(text: str) -> None:
    end = end_of_front_matter(text)
    body = text[end:] if end else text.removeprefix("\ufeff")
    assert split_front_matter(text).body == body.replace("\r\n", "\n").replace("\r", "\n")
