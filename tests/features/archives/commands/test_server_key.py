"""The API key of commands that are clients: where it comes from, and what it must be."""

import io
import sys
from pathlib import Path

import pytest

from octavo.cli import main
from tests.fakes.foreign_server import listed, refused, responding

RESPONSES = {"GET workspaces": listed("Notes"), "GET export": refused(403, "forbidden")}
KEY = "octk_a-key"


def export(url: str, *options: str, environment: dict[str, str] | None = None) -> int:
    given = ["export", "a.zip", "--server", url, "--workspace", "Notes", *options]
    return main(given, environment or {})


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("place", ["environment", "file", "standard input"])
def test_key_is_read_without_the_line_around_it(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment: dict[str, str] = {}
    options: tuple[str, ...] = ()
    match place:
        case "environment":
            environment["OCTAVO_KEY"] = f" {KEY}\n"
        case "file":
            Path("key").write_text(f"{KEY}\n")
            options = ("--key-file", "key")
        case _:
            monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
            options = ("--key-file", "-")
    with responding(RESPONSES) as (url, asked):
        assert export(url, *options, environment=environment) == 1
    assert {credential for _, credential in asked} == {f"Bearer {KEY}"}


def test_file_wins_over_the_environment() -> None:
    Path("key").write_text(KEY)
    with responding(RESPONSES) as (url, asked):
        export(url, "--key-file", "key", environment={"OCTAVO_KEY": "another"})
    assert {credential for _, credential in asked} == {f"Bearer {KEY}"}


def test_missing_key_exits_with_2_and_names_the_ways_to_give_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert export("http://localhost") == 2
    error = capsys.readouterr().err
    assert "OCTAVO_KEY" in error
    assert "--key-file" in error


@pytest.mark.parametrize("text", ["", " \n", "two words", "two\nlines", "k€y", "k" * 513, "a\0b"])
def test_text_that_is_no_key_exits_with_2_and_is_not_repeated(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("key").write_text(text)
    assert export("http://localhost", "--key-file", "key") == 2
    assert capsys.readouterr().err == (
        "octavo: key does not contain an API key, which is one line\n"
    )


def test_file_that_can_not_be_read_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert export("http://localhost", "--key-file", "none") == 2
    assert capsys.readouterr().err == "octavo: none can't be read: No such file or directory\n"


def test_key_in_the_environment_is_no_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings"], {"OCTAVO_KEY": KEY}) == 0
    assert KEY not in capsys.readouterr().out
