"""The progress of a long command, and sizes."""

import io
import sys

import pytest

from octavo.cli.progress import Progress, ProgressDisplay, bar, size_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (
            Progress("writing", 0, 190_000_000),
            "writing  [                              ]   0%  0 bytes of 190 MB",
        ),
        (
            Progress("writing", 95_000_000, 190_000_000),
            "writing  [###############               ]  50%  95 MB of 190 MB",
        ),
        # The size was an estimate.
        (
            Progress("copying", 2_000_000, 1_000_000),
            "copying  [##############################] 100%  1.0 MB of 1.0 MB",
        ),
        (Progress("checking", 0, None), "checking …"),
        (Progress("receiving", 12_000_000, None), "receiving 12 MB …"),
    ],
)
def test_bar_shows_share_and_sizes(progress: Progress, expected: str) -> None:
    assert bar(progress) == expected


def test_terminal_gets_a_bar_that_is_cleared_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressDisplay() as display:
        display(Progress("writing", 1, 2))
        display(Progress("checking", 0, None))
    drawn = terminal.getvalue().split("\r")
    assert drawn[1].startswith("writing")
    assert drawn[2].rstrip() == "checking …"
    assert drawn[-2].strip() == drawn[-1] == ""
    assert len(drawn[1]) == len(drawn[2])


def test_reason_of_a_wait_is_a_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressDisplay() as display:
        display(Progress("writing", 1, 2))
        display.waiting("waiting: for another one")
        display(Progress("writing", 2, 2))
    lines = terminal.getvalue().split("\n")
    assert lines[0].endswith("\roctavo: waiting: for another one")
    assert lines[1].startswith("\rwriting")


def test_other_output_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as display:
        display(Progress("writing", 1, 2_000_000))
        display(Progress("writing", 2, 2_000_000))
        display(Progress("checking", 0, None))
        display.waiting("waiting: for another one")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1 KB"),
        (999_499, "999 KB"),
        (999_500, "1.0 MB"),
        (9_949_999, "9.9 MB"),
        (9_950_000, "10 MB"),
        (1_234_567_890, "1,235 MB"),
    ],
)
def test_sizes_are_short(size: int, text: str) -> None:
    assert size_text(size) == text
