"""The cost of a note's text: edits and diffs, the limits of the grammar, rendering.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. The pathological shapes are
grown until a limit of the grammar refuses them; the largest accepted one is rendered. Times are
processor times, so that other work on the machine matters less.

    python benchmarks/render.py [--quick]
"""

from __future__ import annotations

import sys
from pathlib import Path

# This script's folder would hide the package http of the standard library.
sys.path[0] = str(Path(__file__).parent.parent)

import argparse  # noqa: E402
import json  # noqa: E402
import random  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402

from octavo_rules.documents.edits import edits_between  # noqa: E402

from octavo.features.history.rules.revision_diff import unified, words  # noqa: E402
from octavo.model.refusal import UnrenderableNote  # noqa: E402
from octavo.render.allowed import clean  # noqa: E402
from octavo.render.limits import LIMITS, check_renderable  # noqa: E402
from octavo.render.note import add_anchors, render_note  # noqa: E402
from octavo.render.parser import parse  # noqa: E402
from octavo.render.references import ImageAddress, LinkAddress, place_references  # noqa: E402
from octavo.render.renderer import Renderer  # noqa: E402

MILLI = 1e3
MICRO = 1e6
MEBIBYTE = 1 << 20
PROSE = "Plain words of a note that goes on and on,\nand a *word* in it.\n\n"
# Prose, links, lists, tasks, a table and a quote, as notes of a household have them.
NOTE = """## Getting the house ready for winter

Before the first frost we *drain* the outside taps, and **check** the boiler. The plumber said
that the valve under the sink should be replaced within the year, see
[the invoice](papers/invoice.md) for what he did last time. Nothing of this is urgent, but it is
easier in October than in January, when everybody calls at once.

- Drain the taps in the garden
- Bleed the radiators, beginning on the ground floor
  - the one in the hall sticks: use the `small` key
  - the bathroom needs [[plumbing#radiators|two people]]
- Order wood from <https://example.org/wood>, about 3 m
- [ ] Ask Maria for the ladder
- [x] Clean the gutters

| month | gas | power | remark |
|:------|----:|------:|--------|
| January | 210 | 340 | cold, *two weeks* |
| February | 190 | 310 | see [[winter notes]] |

> What we learn from one year to the next is mostly
> to begin a little earlier.

The second chimney is not used any more. It was closed in 1998 by the previous owner, and nobody
knows how it looks inside; the photographs in ![the attic](images/attic.jpg) show only the top of
it. A paragraph of plain words follows, so that the proportion of prose to markup is what it is in
real notes, that is about three to one, and lines are of a hundred characters or so.

"""
DIFFERENCES: dict[str, Callable[[str, str], object]] = {
    "edits": edits_between,
    "unified": unified,
    "words": words,
}
SHAPES = {
    "prose": PROSE,
    "paragraphs": "a\n\n",
    "one_paragraph": "a\n",
    "tasks": "- [ ] a\n",
    "nested_list": "- a\n  - b\n    - c\n      - d\n",
    "quotes_in_lists": "- a\n  > b\n  > - c\n",
    "list_in_quote_in_list": ">- 1. a\n",
    "rules": "- - - a\n",
    "links": "[a](b) ",
    "images": "![a](b) ",
    "open_brackets": "[a",
    "open_images": "![",
    "open_references": "[a][",
    "open_destinations": "[a](",
    "open_titles": '[a](b "',
    "closing_brackets": "]",
    "references": "[a]: /b\n",
    "emphasis": "*a* ",
    "emphasis_half_open": "*a_ ",
    "emphasis_closing": "a*",
    "emphasis_mixed": "~*",
    "backticks": "`a``b```c",
    "autolinks": "<a@b> ",
    "less_than": "<",
    "entities": "&amp;",
    "escapes": "\\*",
    "tables": "a|b\n-|-\nc|d\n\n",
    "unfinished_tables": "a|b\n",
    "setext": "a\n-\n",
    "formulas": "$a_1$ ",
    "formulas_half_open": "$a ",
    "formula_blocks": "$$\na\n$$\n\n",
    "formula_blocks_open": "$$a\n\n",
    "marks": "==a== ",
    "marks_in_lines": "==a== ==b== ==c== ==d== ==e== ==f==\n",
    "marks_closing": "a==",
    "comments": "%%a%% ",
    "comments_open": "%%a `",
    "footnotes": "a[^1]\n\n[^1]: b\n\n",
    "footnotes_open": "[^a",
    "footnotes_inline": "^[a] ",
    "footnotes_inline_open": "^[a",
    "wiki_links": "[[a#b|c]] ",
    "wiki_links_open": "[[a",
    "embeds": "![[a.png|300]] ",
    "callouts": "> [!tip]- a\n> b\n\n",
    "callouts_nested": "> [!tip] a\n> > [!x] b\n> > c\n\n",
    "html": "<b>a</b> ",
    "html_open": "<b>",
    "html_blocks": "<div>\n\n",
    "html_formatting": "<p><b title=a><i><u><s>x<div>x</div>",
    "html_details": "<details>\n\n",
    "html_tables": "<table><tr><td>",
    "html_attributes": "<a b c d e f <",
    "html_values": '<a x="',
    "html_comments": "<!-- a -->",
    "html_comments_open": "<!--",
    "html_comments_in_items": "- <!-- a\n",
    "html_instructions": "<?",
    "html_cdata": "<![CDATA[",
    "code": "```py\nif a: b = 'c' + 1 # d\n```\n",
    "headings": "# a-1\n# a\n",
    "mixture": "*a* `b` [c](d) **e** <f@g> &amp; ~~h~~ ![i](j)\n- k\n  > l\n",
}


def report(name: str, value: float, unit: str) -> None:
    figure = {"name": name, "value": round(value, 3), "unit": unit}
    print(json.dumps(figure, ensure_ascii=False), flush=True)


def best(rounds: int, work: Callable[..., object], *arguments: str) -> float:
    """The minimum processor time of several rounds, in seconds."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        work(*arguments)
        times.append(time.process_time() - begun)
    return min(times)


def filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def bench_differences(rounds: int) -> None:
    for name, size in (("2KB", 2000), ("100KB", 100_000)):
        old = filled(PROSE, size)
        new = f"{old[: size // 2]}x{old[size // 2 + 1 :]}"
        report(f"edits_one_change_{name}", best(rounds, edits_between, old, new) * MICRO, "µs")
    rng = random.Random(0)
    lines = [f"Line {number} of a note that is {rng.random()} long.\n" for number in range(5500)]
    old = "".join(lines)
    lines[::100] = [f"{line[:9]}x\n" for line in lines[::100]]
    for name, differ in DIFFERENCES.items():
        figure = best(rounds, differ, old, "".join(lines)) * MILLI
        report(f"{name}_5500_lines_55_changed", figure, "ms")
    for shape, one, other in hostile(rng):
        for name, differ in DIFFERENCES.items():
            report(f"{name}_{shape}_8MiB", best(2, differ, one, other) * MILLI, "ms")


def hostile(rng: random.Random) -> list[tuple[str, str, str]]:
    """Pairs of texts of 8 MiB that share little, or share it in a different order."""
    lines = [f"{number:063}\n" for number in range(8 * MEBIBYTE // 64)]
    swapped = [lines[number ^ 1] for number in range(len(lines))]
    shuffled = rng.sample(lines, len(lines))
    letters = ["".join(rng.choices("abcdefgh  \n", k=8 * MEBIBYTE)) for _ in range(2)]
    return [
        ("shuffled_lines", "".join(lines), "".join(shuffled)),
        ("swapped_lines", "".join(lines), "".join(swapped)),
        ("unrelated_letters", letters[0], letters[1]),
    ]


def accepted(text: str) -> bool:
    try:
        check_renderable(text)
    except UnrenderableNote:
        return False
    return True


def bench_limits(rounds: int) -> None:
    for name, size in (("2KB", 2000), ("100KB", 100_000), ("2MiB", LIMITS["length"])):
        text = filled("Plain words of a note that goes on and on,\nand a word in it.\n", size)
        report(f"check_{name}", best(rounds, check_renderable, text) * MICRO, "µs")
    for name, unit in SHAPES.items():
        half, whole = filled(unit, LIMITS["length"] // 2), filled(unit, LIMITS["length"])
        times = [best(3, accepted, text) for text in (half, whole)]
        report(f"check_{name}_2MiB", times[1] * MILLI, "ms")
        report(f"check_{name}_doubled", times[1] / times[0], "times")


def bench_rendering(rounds: int) -> None:
    text = filled(NOTE, 20_000)
    report("render_20KB", best(rounds, render_note, text) * MILLI, "ms")
    report("render_20KB_parse", best(rounds, parse, text) * MILLI, "ms")
    tokens = parse(text)
    anchors = add_anchors(tokens)
    html = Renderer(anchors, 0).render(tokens)
    figure = best(rounds, lambda: Renderer(anchors, 0).render(tokens))
    report("render_20KB_write", figure * MILLI, "ms")
    report("render_20KB_sanitise", best(rounds, clean, html) * MILLI, "ms")
    note = render_note(text)
    report("render_20KB_html", len(note.html), "bytes")
    addresses = [
        ImageAddress("/image?width=800", 800, 600) if each.embed else LinkAddress("/note")
        for each in note.references
    ]
    figure = best(rounds, lambda: place_references(note.html, addresses.__getitem__))
    report("place_references_20KB", figure * MICRO, "µs")
    report("place_references_20KB_count", note.html.count('"octavo:'), "1")


def bench_shapes(shapes: dict[str, str]) -> None:
    for name, unit in shapes.items():
        low, high = 0, LIMITS["length"] + 1
        while high - low > high // 50:
            middle = (low + high) // 2
            low, high = (middle, high) if accepted(filled(unit, middle)) else (low, middle)
        text = filled(unit, low)
        report(f"render_{name}_characters", low, "1")
        report(f"render_{name}", best(1, render_note, text), "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="less work, under 20 seconds")
    quick = parser.parse_args().quick
    rounds = 5 if quick else 20
    bench_differences(rounds)
    bench_limits(rounds)
    bench_rendering(rounds)
    bench_shapes({"prose": SHAPES["prose"], "links": SHAPES["links"]} if quick else SHAPES)


if __name__ == "__main__":
    main()
