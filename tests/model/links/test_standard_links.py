"""Wiki links become standard links to the same files; nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.links.extraction import links_of
from octavo.model.links.resolution import paths_by_key, resolve
from octavo.model.links.standard_links import standard_links

PATHS = [
    "Home.md",
    "My note.md",
    "folder/Other note.md",
    "folder/deep/Straße (1).md",
    "folder/100% & more #1.md",
    "attachments/picture.png",
    "attachments/a b/c.jpg",
    "Version 1.2.md",
]
MOVED = {"assets/shot.png": "attachments/assets/shot.png"}
BEFORE = paths_by_key([*PATHS, *MOVED])
AFTER = paths_by_key([*PATHS, *MOVED.values()])


def standard(text: str, at: str = "Home.md", start: int = 0) -> str:
    return standard_links(
        text,
        at=at,
        start=start,
        moved=lambda path: MOVED.get(path, path),
        before=BEFORE.get,
        after=AFTER.get,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[My note]]", "[My note](My%20note.md)"),
        ("[[my NOTE.md]]", "[my NOTE.md](My%20note.md)"),
        ("[[My note|label]]", "[label](My%20note.md)"),
        ("[[My note|]]", "[My note](My%20note.md)"),
        ("[[ My note | label ]]", "[label](My%20note.md)"),
        ("[[My note#Some heading!]]", "[My note > Some heading!](My%20note.md#some-heading)"),
        ("[[My note#One#Two|x]]", "[x](My%20note.md#two)"),
        ("[[My note#!!!|x]]", "[x](My%20note.md)"),
        ("[[My note#^a1-b2]]", "[My note > ^a1-b2](My%20note.md#^a1-b2)"),
        ("[[#Heading here]]", "[Heading here](#heading-here)"),
        ("[[#^block]]", "[\\^block](#^block)"),
        ("[[#!!!]]", "[[#!!!]]"),
        ("[[Other note]]", "[Other note](folder/Other%20note.md)"),
        ("[[folder/Other note|x]]", "[x](folder/Other%20note.md)"),
        ("[[/folder/Other note|x]]", "[x](folder/Other%20note.md)"),
        ("[[Straße (1)|x]]", "[x](folder/deep/Straße%20%281%29.md)"),
        ("[[STRASSE (1)|x]]", "[x](folder/deep/Straße%20%281%29.md)"),
        ("[[Version 1.2]]", "[Version 1.2](Version%201.2.md)"),
        ("![[picture.png]]", "![picture.png](attachments/picture.png)"),
        ("![[picture.png|300]]", "![picture.png|300](attachments/picture.png)"),
        ("![[picture.png|300x200]]", "![picture.png|300x200](attachments/picture.png)"),
        ("![[picture.png|A caption]]", "![A caption](attachments/picture.png)"),
        ("[[picture.png]]", "[picture.png](attachments/picture.png)"),
        ("[[c.jpg|300]]", "[300](attachments/a%20b/c.jpg)"),
        ("![[My note]]", "[My note](My%20note.md)"),
        ("![[My note#Part]]", "[My note > Part](My%20note.md#part)"),
        ("![[shot.png]]", "![shot.png](attachments/assets/shot.png)"),
        ("| [[My note\\|x]] |", "| [x](My%20note.md) |"),
        ("| ![[picture.png\\|50]] |", "| ![picture.png\\|50](attachments/picture.png) |"),
        ("[[My note|a*b* c_d _e_ `f` <g> ~~h~~]]",
         "[a\\*b\\* c_d \\_e\\_ \\`f\\` \\<g> \\~\\~h\\~\\~](My%20note.md)"),
        ("[[My note|a\\]]", "[a\\\\](My%20note.md)"),
        ("[[My note|&amp; & c]]", "[\\&amp; & c](My%20note.md)"),
        ("[[My note]] and [[Other note|o]].",
         "[My note](My%20note.md) and [o](folder/Other%20note.md)."),
        ("# [[My note]]\r\n\r\ntext\r\n", "# [My note](My%20note.md)\r\n\r\ntext\r\n"),
        ("[a](https://example.org)、[[My note]]",
         "[a](https://example.org)、[My note](My%20note.md)"),
        ("[[[My note]]]", "[[My note](My%20note.md)]"),
        ("![alt [[My note]]](x.png)", "![alt [My note](My%20note.md)](x.png)"),
        ("[![[picture.png]]](x.md)", "[![picture.png](attachments/picture.png)](x.md)"),
    ],
)  # fmt: skip
def test_wiki_link_to_a_file_becomes_a_standard_link(text: str, expected: str) -> None:
    assert standard(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[[Missing]]",
        "[[Missing|x]] ![[missing.png]]",
        "`[[My note]]`",
        "```\n[[My note]]\n```",
        "<!-- [[My note]] -->",
        "\\[[My note]]",
        "[[My note]](x)",
        "[a](My%20note.md) ![b](attachments/picture.png) [c](https://example.org/shot.png)",
        "[a [[My note]] b](Version%201.2.md)",
        "[a ![[My note]] b](Version%201.2.md)",
        "Look!![[My note]]",
        "[a]([[My note|b]])",
        "[a]: [[My note|b]]",
        "plain",
        "",
    ],
)
def test_anything_else_is_unchanged(text: str) -> None:
    assert standard(text) == text


@pytest.mark.parametrize(
    ("at", "text", "expected"),
    [
        ("Home.md", "![a](assets/shot.png)", "![a](attachments/assets/shot.png)"),
        ("folder/Other note.md", "![a](../assets/shot.png)",
         "![a](../attachments/assets/shot.png)"),
        ("Home.md", '![a](<assets/shot.png> "t")', '![a](<attachments/assets/shot.png> "t")'),
        ("Home.md", "![a](/assets/shot.png)", "![a](/attachments/assets/shot.png)"),
        ("Home.md", "[a]: ./assets/shot.png\n\n![a]", "[a]: ./attachments/assets/shot.png\n\n![a]"),
        ("Home.md", "[a](assets/sh%6ft.png#x)", "[a](attachments/assets/shot.png#x)"),
        ("folder/deep/Straße (1).md", "[[My note]] ![[shot.png]]",
         "[My note](../../My%20note.md) ![shot.png](../../attachments/assets/shot.png)"),
        ("folder/Other note.md", "[[Straße (1)]]", "[Straße (1)](deep/Straße%20%281%29.md)"),
        ("folder/Other note.md", "[[100% & more #1]]", "[[100% & more #1]]"),
    ],
)  # fmt: skip
def test_destinations_are_relative_to_the_note(at: str, text: str, expected: str) -> None:
    assert standard(text, at) == expected


def test_text_before_the_start_is_unchanged() -> None:
    text = 'up: "[[My note]]"\n\n[[My note]]'
    assert standard(text, start=20) == 'up: "[[My note]]"\n\n[My note](My%20note.md)'


def test_link_is_left_if_no_destination_leads_to_its_file() -> None:
    # The key of x.md, with any case, belongs to the file that comes first.
    files = paths_by_key(["x.md", "X.md.md"])
    options = {"moved": str, "before": {**files, "x": "x.md"}.get, "after": files.get}
    assert standard_links("[[x]]", at="n.md", **options) == "[[x]]"  # type: ignore[arg-type]


NAMES = ["My note", "Other note", "picture.png", "shot.png", "Missing", "#My", "a*b_", "c|d", "e\\"]
PIECES = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(
        [
            *("[[", "]]", "![[", "[", "]", "](", ")", "!", "|", "`", "\n", "\n\n", "> ", "- ", "<"),
            *("[[My note]]", "![[shot.png|20]]", "[a](My%20note.md)", "![b](assets/shot.png)"),
            *("*", "\\", "(", ": ", "#", "[[Other note|x]]", "[[My note#h|`y`]]"),
        ]
    ),
)


def targets(text: str, tree: dict[str, str]) -> list[tuple[str | None, str]]:
    return [
        (resolve(link.kind, link.target, "Home.md", tree.get), link.target)
        for link in links_of(text)
    ]


@given(st.lists(PIECES, max_size=14).map("".join))
def test_every_link_leads_to_the_file_that_it_led_to(text: str) -> None:
    before = targets(text, BEFORE)
    after = targets(standard(text), AFTER)
    assert [each and MOVED.get(each, each) for each, _ in before] == [each for each, _ in after]


@given(st.lists(PIECES, max_size=14).map("".join))
def test_a_second_pass_changes_nothing(text: str) -> None:
    once = standard(text)
    again = standard_links(
        once, at="Home.md", moved=lambda path: path, before=AFTER.get, after=AFTER.get
    )
    assert again == once
