"""Standard output that fails: one line and exit code 1, never a traceback. Real processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.source import ROOT

COMMANDS = [["--version"], ["--help"], ["settings"], ["settings", "--help"], ["openapi"]]


def run(
    argv: list[str],
    folder: Path,
    *,
    redirection: str = "",
    stdout: int = subprocess.PIPE,
    encoding: str = "utf-8",
) -> "subprocess.CompletedProcess[bytes]":
    """Run ``octavo`` in a shell, which redirects its output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OCTAVO_")}
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "octavo", *argv],
        env={**environment, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding},
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("redirection", "reason"),
    [
        (">&-", b"standard output is closed"),
        (">/dev/full", b"standard output can't be written: No space left on device"),
        ("</dev/null 1</dev/null", b"standard output can't be written: Bad file descriptor"),
    ],
)
@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_unwritable_output_exits_with_1_and_one_line(
    argv: list[str], redirection: str, reason: bytes, tmp_path: Path
) -> None:
    ended = run(argv, tmp_path, redirection=redirection)
    assert (ended.returncode, ended.stderr) == (1, b"octavo: " + reason + b"\n")


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["account", "show", b"\xff"], "the account is not text in UTF-8"),
        (
            ["account", "lock", "a@example.org", "--reason", b"\xff"],
            "the reason is not text in UTF-8",
        ),
    ],
    ids=["account", "reason"],
)
def test_argument_that_is_not_utf_8_exits_with_2_and_one_line(
    argv: list[str | bytes], problem: str, tmp_path: Path
) -> None:
    given = [os.fsdecode(each) for each in argv]
    ended = run(given, tmp_path)
    assert (ended.returncode, ended.stderr) == (2, f"octavo: {problem}\n".encode())


@pytest.mark.parametrize(
    "argv",
    [
        ["\x1b[31mserve"],
        ["settings", "--\x1b[31m"],
        ["recover", "\x1b[31ma\x07"],
        [os.fsdecode(b"\xff")],
    ],
    ids=["command", "option", "argument", "bytes"],
)
def test_control_characters_of_arguments_are_escaped(argv: list[str], tmp_path: Path) -> None:
    ended = run(argv, tmp_path)
    assert ended.returncode in (1, 2)
    text = ended.stderr.decode().removesuffix("\n")
    assert text.startswith("octavo: ")
    assert text.isprintable()


def test_closed_output_exits_with_1_and_one_line(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = run(["settings"], tmp_path, stdout=writer)
    finally:
        os.close(writer)
    reason = b"standard output can't be written: Broken pipe"
    assert (ended.returncode, ended.stderr) == (1, b"octavo: " + reason + b"\n")


def test_output_in_an_encoding_without_a_character_has_question_marks(tmp_path: Path) -> None:
    (tmp_path / "octavo.toml").write_text('data_dir = "Bücher"')
    ended = run(["settings"], tmp_path, encoding="ascii")
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"\ndata_dir = B?cher\n" in ended.stdout


def test_failure_with_closed_standard_error_still_has_its_exit_code(tmp_path: Path) -> None:
    assert run(["sing"], tmp_path, redirection="2>&-").returncode == 2
    assert run(["sing"], tmp_path, redirection="2>/dev/full").returncode == 2


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["actors"], ["settings"]])
def test_command_without_a_need_for_the_server_does_not_import_it(
    argv: list[str], tmp_path: Path
) -> None:
    # LoadCost the server takes a second.
    program = (
        "import sys; from octavo.cli import main; main(sys.argv[1:], {});"
        "print(sorted(each for each in sys.modules if each in {'trio', 'quart', 'hypercorn'}"
        " or each.startswith('octavo.service.') and each != 'octavo.service.settings'))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *argv],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout.splitlines()[-1] == "[]", ended.stderr
