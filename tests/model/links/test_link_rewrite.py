"""When files move, links lead to the same files as before, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.files.path import path_key
from octavo.model.links.extraction import Link, links_of
from octavo.model.links.link_rewrite import rewrite_links
from octavo.model.links.resolution import paths_by_key, resolve


def rewritten(text: str, at: str, tree: list[str], moved: dict[str, str]) -> str:
    after = [moved.get(path, path) for path in tree]
    return rewrite_links(
        text,
        was_at=at,
        now_at=moved.get(at, at),
        moved=lambda path: moved.get(path, path),
        before=paths_by_key(tree).get,
        after=paths_by_key(after).get,
    )


TREE = ["a.md", "n.md", "x/a.md", "x/b.md", "x/y/c.md", "attachments/i.png"]


@pytest.mark.parametrize(
    ("text", "at", "moved", "expected"),
    [
        ("[l](a.md)", "n.md", {"a.md": "z.md"}, "[l](z.md)"),
        ("[l](a)", "n.md", {"a.md": "z.md"}, "[l](z)"),
        ("[l](./a.md)", "n.md", {"a.md": "q/z.md"}, "[l](./q/z.md)"),
        ("[l](/a.md)", "n.md", {"a.md": "q/z.md"}, "[l](/q/z.md)"),
        ('[l](a.md#h "t")', "n.md", {"a.md": "z.md"}, '[l](z.md#h "t")'),
        ("[l](a.md)", "n.md", {"a.md": "z (1).md"}, "[l](z%20%281%29.md)"),
        ("[l](<a.md>)", "n.md", {"a.md": "z (1).md"}, "[l](<z (1).md>)"),
        ("[l](a.md)", "n.md", {"a.md": "100%#é.md"}, "[l](100%25%23é.md)"),
        ("[l](a.md)", "n.md", {"n.md": "q/n.md"}, "[l](../a.md)"),
        ("[l](x/b.md)", "n.md", {"n.md": "x/n.md"}, "[l](b.md)"),
        ("[l]: a.md 't'\n\n[l]", "n.md", {"a.md": "z.md"}, "[l]: z.md 't'\n\n[l]"),
        ("![](attachments/i.png)", "n.md", {"n.md": "q/n.md"}, "![](../attachments/i.png)"),
        ("[[b]]", "n.md", {"x/b.md": "x/z.md"}, "[[z]]"),
        ("[[b|l]]", "n.md", {"x/b.md": "q/b.md"}, "[[b|l]]"),
        ("[[b.md#h|l]]", "n.md", {"x/b.md": "z.md"}, "[[z.md#h|l]]"),
        ("[[x/b]]", "n.md", {"x/b.md": "q/b.md"}, "[[q/b]]"),
        ("[[a]]", "n.md", {"a.md": "q/r/a.md"}, "[[q/r/a]]"),
        ("[[a]]", "x/b.md", {"x/a.md": "q.md", "a.md": "x/a.md"}, "[[q]]"),
        ("[[y/c]]", "x/b.md", {"x/y/c.md": "x/z/c.md"}, "[[z/c]]"),
        ("[[b]]", "n.md", {"n.md": "q/n.md", "x/a.md": "q/b.md"}, "[[x/b]]"),
        ("[[a]]", "x/b.md", {"x/b.md": "b.md"}, "[[x/a]]"),
        ("[[b|l]]", "n.md", {"x/b.md": "x/b#1.md"}, "[l](/x/b%231.md)"),
        ("[[b#One two#Three four]]", "n.md", {"x/b.md": "b#1.md"}, "[b](/b%231.md#three-four)"),
        ("![[i.png]]", "n.md", {"attachments/i.png": "attachments/[j].png"},
         "![i.png](/attachments/[j].png)"),
        ("[l](A.md)", "n.md", {"a.md": "A.md"}, "[l](A.md)"),
        ("[l](a.md#h) [[a|l]]", "n.md", {"a.md": "A.md"}, "[l](A.md#h) [[A|l]]"),
        ("[[b]] [l](x/b.md)", "n.md", {"x/b.md": "X/b.md"}, "[[b]] [l](X/b.md)"),
        ("[l](#h) [[#h]]", "n.md", {"n.md": "q/n.md"}, "[l](#h) [[#h]]"),
        ("[l](none.md)", "n.md", {"n.md": "q/n.md"}, "[l](none.md)"),
        ("[l](http://a.md)", "n.md", {"a.md": "z.md"}, "[l](http://a.md)"),
        ("[l](n.md)", "n.md", {"n.md": "q/m.md"}, "[l](m.md)"),
        ("`[l](a.md)`", "n.md", {"a.md": "z.md"}, "`[l](a.md)`"),
    ],
)  # fmt: skip
def test_link_is_written_in_its_style(
    text: str, at: str, moved: dict[str, str], expected: str
) -> None:
    assert rewritten(text, at, TREE, moved) == expected


SEGMENTS = st.sampled_from(["a", "A", "b", "é", "c d", "(e", "f#g", "h[i]", "j%20", "k&amp;", "`l"])
PATHS = st.builds(
    lambda names, image: f"attachments/{'/'.join(names)}.png" if image else f"{'/'.join(names)}.md",
    st.lists(SEGMENTS, min_size=1, max_size=3),
    st.integers(0, 4).map(lambda number: number == 0),
)


def distinct(paths: list[str]) -> list[str]:
    return list({path_key(path): path for path in paths}.values())


def label(link: Link) -> tuple[object, ...]:
    return link.embed, link.heading, link.kind


@given(st.data())
def test_links_lead_to_the_same_targets_and_nothing_else_changes(data: st.DataObject) -> None:
    tree = distinct(data.draw(st.lists(PATHS, min_size=2, max_size=8)))
    at = data.draw(st.sampled_from(tree))
    names = [*tree, *(path.rpartition("/")[2] for path in tree)]
    names += [name.removesuffix(".md") for name in names]
    names += [f"../{name}" for name in names] + [f"/{name}" for name in names] + [""]
    forms = [
        "[l]({} 't')",
        "[l](<{}>)",
        "![l]({}#h)",
        "[[{}]]",
        "[[{}#h|l]]",
        "![[{}]]",
        "`[[{}]]`",
    ]
    written = data.draw(
        st.lists(st.tuples(st.sampled_from(forms), st.sampled_from(names)), max_size=8)
    )
    text = " -- ".join(form.format(name.replace(" ", "%20")) for form, name in written)
    if data.draw(st.booleans()):
        places = data.draw(st.permutations(tree))
    else:
        more = distinct([*data.draw(st.lists(PATHS, max_size=6)), *tree])
        places = data.draw(st.permutations(more))[: len(tree)]
    moved = dict(zip(tree, places, strict=True))
    before, after = paths_by_key(tree).get, paths_by_key(places).get
    result = rewritten(text, at, tree, moved)
    olds, news = links_of(text), links_of(result)
    assert len(olds) == len(news)
    for old, new in zip(olds, news, strict=True):
        was = resolve(old.kind, old.target, at, before)
        if was is not None:
            assert resolve(new.kind, new.target, moved[at], after) == moved[was]
        if old.kind == new.kind:
            assert label(old) == label(new)
            # People read in which case a name is written.
            was_right = (
                was is not None
                and resolve(old.kind, old.target, moved[at], after) == moved[was]
                and (moved[was] == was or path_key(moved[was]) != path_key(was))
            )
            if was is None or was_right:
                assert text[slice(*old.whole)] == result[slice(*new.whole)]
        else:
            assert (old.embed, bool(old.heading)) == (new.embed, bool(new.heading))
    kept = [_between(text, olds), _between(result, news)]
    assert kept[0] == kept[1] or any(o.kind != n.kind for o, n in zip(olds, news, strict=True))
    assert rewritten(result, moved[at], places, {}) == result


def _between(text: str, links: list[Link]) -> list[str]:
    ends = [0, *(link.end for link in links)]
    starts = [*(link.start for link in links), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]
