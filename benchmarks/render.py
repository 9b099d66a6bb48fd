"""The cost of a note's text: edits and diffs, the limits of the grammar, parsing.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. The pathological shapes are
grown until a limit of the grammar refuses them; the largest accepted one is parsed. Times are
processor times, so that other work on the machine matters less.

    python benchmarks/render.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable

from octavo.model.documents.edits import edits_between
from octavo.model.files.revision_diff import unified, words
from octavo.model.refusal import UnrenderableNote
from octavo.render.limits import LIMITS, check_renderable
from octavo.render.parser import parse

MILLI = 1e3
MICRO = 1e6
MEBIBYTE = 1 << 20
PROSE = "Plain words of a note that goes on and on,\nand a *word* in it.\n\n"
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


def bench_parsing(shapes: dict[str, str]) -> None:
    for name, unit in shapes.items():
        low, high = 0, LIMITS["length"] + 1
        while high - low > high // 50:
            middle = (low + high) // 2
            low, high = (middle, high) if accepted(filled(unit, middle)) else (low, middle)
        text = filled(unit, low)
        report(f"parse_{name}_characters", low, "1")
        report(f"parse_{name}", best(1, parse, text), "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="less work, under 20 seconds")
    quick = parser.parse_args().quick
    rounds = 5 if quick else 20
    bench_differences(rounds)
    bench_limits(rounds)
    bench_parsing({"prose": SHAPES["prose"], "links": SHAPES["links"]} if quick else SHAPES)


if __name__ == "__main__":
    main()
