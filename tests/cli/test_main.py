"""The command line: its output and its exit codes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.cli import main
from octavo.cli.output import Failed
from octavo.features.accounts.commands import recover as recovery
from octavo.features.mail import sending
from octavo.features.members import invitations_of_terminal
from octavo.model.access.token import digest_of, is_operator_token
from octavo.service.registry import api_document
from octavo.service.settings import Settings
from octavo.settings.names import option
from octavo.settings.reading import describe, shown
from octavo.settings.values import digests
from tests.fakes.control_socket import responding

COMMANDS = [
    "serve",
    "invite",
    "account",
    "recover",
    "mail",
    "backup",
    "restore",
    "import",
    "export",
    "actors",
    "settings",
    "operator-token",
    "openapi",
]
SECRET = {"OCTAVO_DATABASE": "postgresql://octavo:hidden@db.example/notes"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in an empty folder: no settings file there, no data in the checkout."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not Path("octavo-data").exists()


@pytest.mark.parametrize("argv", [[], ["--help"]])
def test_main_help_names_every_command(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv, {}) == 0
    printed = capsys.readouterr().out
    assert all(f"\n  {command} " in printed for command in COMMANDS)


def test_main_version_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"], {}) == 0
    assert capsys.readouterr().out == f"octavo {octavo.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_command_help_has_an_example_and_fits_the_terminal(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"], {}) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Usage: octavo {command} ")
    assert any(line.startswith(f"    octavo {command}") for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["--loud"], "octavo"),
        (["--version=2"], "octavo"),
        (["serve", "--loud"], "octavo serve"),
        (["serve", "now"], "octavo serve"),
        (["actors", "--shutdown-timeout", "1"], "octavo actors"),
        (["serve", "--bind"], "octavo serve"),
        (["backup"], "octavo backup"),
        (["restore", "--data-dir"], "octavo restore"),
    ],
)
def test_main_wrong_usage_exits_with_2_and_one_line(
    argv: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv, {}) == 2
    printed = capsys.readouterr()
    [line] = printed.err.splitlines()
    assert line.startswith("octavo: ")
    assert line.endswith(f" `{command} --help` lists the options.")
    assert line.partition(" `octavo")[0].endswith((".", "?"))
    assert printed.out == ""


def test_main_unknown_command_exits_with_2_and_names_the_list_of_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sing"], {}) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line == "octavo: No such command 'sing'. `octavo --help` lists the commands."


@pytest.mark.parametrize("argv", [[], ["backup"]], ids=" ".join)
def test_short_option_shows_the_help(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*argv, "--help"], {}) == 0
    help_text = capsys.readouterr().out
    assert main([*argv, "-h"], {}) == 0
    assert capsys.readouterr().out == help_text


def test_serve_help_lists_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"], {}) == 0
    printed = "".join(capsys.readouterr().out.split())
    for each in describe(Settings):
        known = f"(default {shown(each.default) or 'none'}; environment {each.variable})"
        assert (f"{option(each.name)}VALUE" in printed) is (each.option is not None)
        assert (known.replace(" ", "") in printed) is (each.option is not None)


@pytest.mark.parametrize("command", [["serve"], ["settings"], ["mail", "test", "a@b.example"]])
def test_password_in_the_arguments_ends_with_2_and_is_not_repeated(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--smtp-password", "hidden"], {}) == 2
    # Without a name it would be a contradiction, which is not reported beside it.
    [line] = capsys.readouterr().err.splitlines()
    assert "environment variable OCTAVO_SMTP_PASSWORD, or as smtp_password in a file" in line
    assert "hidden" not in line


@pytest.mark.parametrize("command", ["serve", "settings"])
def test_wrong_settings_end_with_2_and_a_line_each(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("octavo.toml").write_text("drain_timeout = 'late'")
    assert main([command, "--bind", "http:"], {"OCTAVO_SHUTDOWN_TIMEOUT": "long"}) == 2
    printed = capsys.readouterr()
    assert [line.split("=")[0] for line in printed.err.splitlines()] == [
        "octavo: --bind",
        "octavo: OCTAVO_SHUTDOWN_TIMEOUT",
        "octavo: octavo.toml: drain_timeout",
    ]
    assert printed.out == ""


@pytest.mark.parametrize("command", ["invite", "actors"])
def test_command_with_a_missing_file_of_settings_ends_with_2(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--config", "no.toml"], {}) == 2
    assert capsys.readouterr().err.startswith("octavo: --config='no.toml' can't be read: ")


def test_serve_unknown_host_exits_with_1_and_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "data")
    assert main(["serve", "--bind", "octavo.invalid:0", "--data-dir", folder], {}) == 1
    assert capsys.readouterr().err == (
        "octavo: no address is known for the host octavo.invalid: "
        "bind to an IP address, such as 127.0.0.1:8080\n"
    )


def test_serve_unusable_data_folder_exits_with_1_and_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "below"
    assert main(["serve", "--bind", "127.0.0.1:0", "--data-dir", str(folder)], {}) == 1
    assert capsys.readouterr().err == (
        f"octavo: the data folder {folder} can't be used: Not a directory: "
        "choose another with --data-dir or OCTAVO_DATA_DIR\n"
    )


def test_settings_lists_each_with_its_value_its_origin_and_its_meaning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("octavo.toml").write_text("drain_timeout = 1")
    assert main(["settings", "--bind", "[::1]:1"], {"OCTAVO_SHUTDOWN_TIMEOUT": "5", **SECRET}) == 0
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:2] == ["bind = [::1]:1", "    from --bind"]
    assert "shutdown_timeout = 5\n    from OCTAVO_SHUTDOWN_TIMEOUT\n" in printed
    assert "drain_timeout = 1\n    from octavo.toml: drain_timeout\n" in printed
    assert "tls_key = none\n    from the default\n" in printed
    assert "database = postgresql://octavo:***@db.example/notes\n" in printed
    assert "hidden" not in printed
    flat = " ".join(printed.split())
    for each in describe(Settings):
        default = shown(each.default) or "none"
        names = each.variable if each.option is None else f"{each.variable}, {each.option}"
        assert f"{each.meaning} {names}; default {default}" in flat


def test_settings_for_programs_are_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    Path("octavo.toml").write_text("drain_timeout = 1")
    assert main(["settings", "--json"], {"OCTAVO_TRUSTED_PROXIES": "::1", **SECRET}) == 0
    text = capsys.readouterr().out
    printed = json.loads(text)
    found = {each["name"]: each for each in printed["settings"]}
    assert printed["file"] == "octavo.toml"
    assert list(found) == Settings.names()
    assert found["drain_timeout"] == {
        "name": "drain_timeout",
        "value": 1.0,
        "origin": "octavo.toml: drain_timeout",
        "default": 0.0,
        "variable": "OCTAVO_DRAIN_TIMEOUT",
        "option": "--drain-timeout",
        "meaning": Settings.model_fields["drain_timeout"].description,
    }
    assert found["trusted_proxies"]["value"] == ["::1/128"]
    assert found["tls_key"]["value"] is None
    assert found["bind"]["origin"] == "default"
    assert "hidden" not in text


def test_openapi_prints_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["openapi"], {}) == 0
    assert json.loads(capsys.readouterr().out) == api_document()


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], (False, None)),
        (["--administrator"], (True, None)),
        (["--address", "ada@example.org"], (False, "ada@example.org")),
    ],
)
def test_invite_prints_only_the_link(
    argv: list[str],
    expected: tuple[bool, str | None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    async def invite(settings: Settings, *, administrator: bool, address: str | None) -> str:
        asked.append((settings.data_dir, administrator, address))
        return "to-ken_&"

    monkeypatch.setattr(invitations_of_terminal, "invite", invite)
    environment = {"OCTAVO_PUBLIC_URL": "https://notes.example.org/"}
    assert main(["invite", "--data-dir", "there", *argv], environment) == 0
    assert asked == [(Path("there"), *expected)]
    printed = capsys.readouterr()
    assert printed.out == "https://notes.example.org/register?invitation=to-ken_%26\n"
    assert printed.err == ""


def test_invite_uses_the_address_of_the_running_server(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def invite(settings: Settings, *, administrator: bool, address: str | None) -> str:
        return "token"

    monkeypatch.setattr(invitations_of_terminal, "invite", invite)
    folder = tmp_path / "data"
    with responding(folder, b'{"result":"https://elsewhere.example.org"}\n') as asked:
        assert main(["invite", "--data-dir", str(folder)], {}) == 0
        assert b'"public_url"' in asked()
    printed = capsys.readouterr()
    assert printed.out == "https://elsewhere.example.org/register?invitation=token\n"


def test_refused_invite_exits_with_1_and_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def invite(settings: Settings, *, administrator: bool, address: str | None) -> str:
        raise Failed("the reason")

    monkeypatch.setattr(invitations_of_terminal, "invite", invite)
    assert main(["invite"], {}) == 1
    assert capsys.readouterr() == ("", "octavo: the reason\n")


@pytest.mark.parametrize("argv", [["invite", "--address", "foo"], ["recover", "foo"]])
def test_invalid_address_exits_with_2_and_one_line(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv, {}) == 2
    assert capsys.readouterr() == (
        "",
        "octavo: the address is invalid: give one such as ann@example.org\n",
    )


def test_recover_prints_only_the_link(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def recover(settings: Settings, address: str) -> str:
        asked.append((settings.data_dir, address))
        return "to-ken_&"

    monkeypatch.setattr(recovery, "recover", recover)
    environment = {"OCTAVO_PUBLIC_URL": "https://notes.example.org/"}
    assert main(["recover", "ada@example.org", "--data-dir", "there"], environment) == 0
    assert asked == [(Path("there"), "ada@example.org")]
    link = "https://notes.example.org/reset-password?token=to-ken_%26\n"
    assert capsys.readouterr() == (link, "")


def test_refused_recover_exits_with_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def recover(settings: Settings, address: str) -> str:
        raise Failed("the reason")

    monkeypatch.setattr(recovery, "recover", recover)
    assert main(["recover", "ada@example.org"], {}) == 1
    assert capsys.readouterr() == ("", "octavo: the reason\n")


@pytest.mark.parametrize("group", ["account", "mail"])
def test_group_without_a_command_prints_its_help(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([group], {}) == 0
    assert capsys.readouterr().out.startswith(f"Usage: octavo {group} ")
    assert main([group, "sing"], {}) == 2
    assert f"`octavo {group} --help` lists the commands" in capsys.readouterr().err


def test_mail_test_reports_the_acceptance(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def send_test_message(settings: Settings, address: str) -> None:
        asked.append((settings.smtp_host, settings.smtp_port, address))

    monkeypatch.setattr(sending, "send_test_message", send_test_message)
    environment = {
        "OCTAVO_SMTP_HOST": "mail.example.org",
        "OCTAVO_MAIL_FROM": "notes@example.org",
    }
    options = ["--smtp-security", "tls"]
    assert main(["mail", "test", "ada@example.org", *options], environment) == 0
    assert asked == [("mail.example.org", 465, "ada@example.org")]
    printed = capsys.readouterr().out
    assert printed.startswith("mail.example.org:465 accepted a message to ada@example.org")


def test_mail_test_without_a_mail_server_exits_with_1_and_names_the_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["mail", "test", "ada@example.org"], {}) == 1
    assert capsys.readouterr() == (
        "",
        "octavo: no mail server is configured: set OCTAVO_SMTP_HOST and OCTAVO_MAIL_FROM\n",
    )
    assert main(["mail", "test", "ada"], {}) == 2
    assert "the address is invalid" in capsys.readouterr().err


def test_actors_prints_the_response_of_the_server(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with responding(tmp_path / "data", b'{"result": "octavo (supervisor)"}\n') as asked:
        assert main(["actors", "--data-dir", str(tmp_path / "data")], {}) == 0
    assert asked() == b'{"command": "actors"}\n'
    assert capsys.readouterr() == ("octavo (supervisor)\n", "")


def test_actors_without_a_server_exits_with_1_and_names_the_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["actors"], {}) == 1
    assert capsys.readouterr().err == (
        f"octavo: no server runs with the data folder {tmp_path / 'octavo-data'}: "
        "start one there, or name its folder with --data-dir\n"
    )


def test_operator_token_prints_a_token_and_its_digest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operator-token"], {}) == 0
    first, second = capsys.readouterr().out.splitlines()
    token, digest = first.removeprefix("token:  "), second.removeprefix("digest: ")
    assert is_operator_token(token.encode())
    assert digest_of(token.encode()).hex() == digest
    assert digests(digest) == (digest,)
