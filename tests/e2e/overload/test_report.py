"""The figures of a run replace those of an earlier one, and nothing else of the page."""

from typing import Any

from tests.e2e.overload.report import BEGIN, END, written
from tests.project.source import ROOT


def test_figures_replace_those_of_an_earlier_run() -> None:
    page = f"# Before\n\n{BEGIN}\n\nOld.\n\n{END}\n\nAfter.\n"
    figures: dict[str, dict[str, Any]] = {
        "heads": {"health p50": 1, "health p99": 2, "saves p50": 3, "saves p99": 4_000},
        "sign-in flood": {"saves p50": 7, "refused": 0, "memory": 5, "stop": 0.5},
    }
    told = written(page, figures, "On a machine:")
    assert told == written(told, figures, "On a machine:")
    assert told.startswith(f"# Before\n\n{BEGIN}\n\nOn a machine:\n\n| attack |")
    assert "| heads | 1 / 2 | 3 / 4,000 |  |  |  |  |\n" in told
    assert "| sign-in flood |  | 7 |  | 0 | 5 | 0.5 |\n" in told
    assert (
        "- *pipelined requests*, *requests of a page*: 250 connections that repeat\n  20 " in told
    )
    assert told.endswith(f"\n\n{END}\n\nAfter.\n")


def test_page_has_the_place_for_the_figures() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    assert page.count(BEGIN) == page.count(END) == 1
