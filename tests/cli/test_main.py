"""The command line: what it prints and which code it ends with."""

import pytest

import octavo
from octavo.cli import main
from octavo.settings import describe, option, variable


def test_main_without_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], {}) == 0
    assert "serve" in capsys.readouterr().out


def test_main_version_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"], {})
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"octavo {octavo.__version__}\n"


@pytest.mark.parametrize("argv", [["sing"], ["--loud"], ["serve", "--loud"], ["serve", "--port"]])
def test_main_wrong_usage_ends_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv, {})
    assert ended.value.code == 2
    assert "usage: octavo" in capsys.readouterr().err


def test_serve_help_tells_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"], {})
    told = " ".join(capsys.readouterr().out.split())
    for name, default, _ in describe():
        assert option(name) in told
        assert f"(default {default or 'none'}; environment {variable(name)})" in told


def test_serve_wrong_settings_end_with_2_and_a_line_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "--port", "http"], {"OCTAVO_GRACE": "long"}) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("=")[0] for line in lines] == ["octavo: --port", "octavo: OCTAVO_GRACE"]


def test_serve_unknown_host_ends_with_1_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "octavo.invalid", "--port", "0"], {}) == 1
    assert capsys.readouterr().err == (
        "octavo: no address is known for the host octavo.invalid: give an IP address\n"
    )
