"""`octavo import` and `octavo export`: errors that people can act on, and what is left behind."""

import io
import json
import os
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from octavo_client import Client, Retrying
from octavo_rules.export_report import REPORT, export_report

from octavo.cli import main
from octavo.features.archives.commands import workspace_transfers
from octavo.features.archives.worker.selection import ExportLayout
from octavo.features.archives.worker.zip_writer import ZipWriter
from tests.fakes.foreign_server import WORKSPACE_ID, Responses, listed, refused, responding

KEY = {"OCTAVO_KEY": "octk_key"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    once = Retrying(attempts=1)
    monkeypatch.setattr(workspace_transfers, "_FIRST_CONTACT", once)
    monkeypatch.setattr(workspace_transfers, "_RETRYING", once)


def export(url: str, *options: str, workspace: str = "Notes") -> int:
    given = ["export", "a.zip", "--server", url, "--workspace", workspace, *options]
    return main(given, KEY)


def bring(url: str, source: str, *options: str, workspace: str = "Notes") -> int:
    return main(["import", source, "--server", url, "--workspace", workspace, *options], KEY)


def archive() -> bytes:
    writer = ZipWriter(ExportLayout())
    return writer.note("a.md", b"one") + writer.end()


def test_export_is_written_and_its_size_printed(capsys: pytest.CaptureFixture[str]) -> None:
    responses: Responses = {"GET workspaces": listed("Notes"), "GET export": (200, archive())}
    with responding(responses) as (url, _):
        assert export(url) == 0
    assert Path("a.zip").read_bytes() == archive()
    assert capsys.readouterr() == (
        f"{os.path.abspath('a.zip')}: {len(archive())} bytes, 1 file\n",
        "",
    )


def test_images_that_an_export_lacks_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    writer = ZipWriter(ExportLayout())
    lacked = [f"p{number}.png" for number in range(22)]
    data = writer.note("a.md", b"one") + writer.note(REPORT, export_report(lacked).encode())
    responses: Responses = {
        "GET workspaces": listed("Notes"),
        "GET export": (200, data + writer.end()),
    }
    with responding(responses) as (url, _):
        assert export(url) == 1
    printed, errors = capsys.readouterr()
    assert printed.startswith(os.path.abspath("a.zip"))
    assert zipfile.ZipFile("a.zip").read("a.md") == b"one"
    first, *named = errors.splitlines()
    assert first.startswith("octavo: the archive lacks 22 images, damaged or missing on the server")
    assert named == [
        *(f"octavo: p{number}.png" for number in range(20)),
        "octavo: …, named in octavo-export-report.txt",
    ]


@pytest.mark.parametrize("missing", [1, 50])
def test_cut_export_is_refused_and_leaves_the_earlier_one(
    missing: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.zip").write_bytes(b"earlier")
    cut = archive()[:-missing]
    responses: Responses = {"GET workspaces": listed("Notes"), "GET export": (200, cut)}
    with responding(responses) as (url, _):
        assert export(url, "--replace") == 1
    assert os.listdir() == ["a.zip"]
    assert Path("a.zip").read_bytes() == b"earlier"
    assert "the archive has no end" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["a.zip", "none/a.zip"])
def test_export_that_can_not_be_written_sends_nothing_or_names_the_file(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.zip").mkdir()
    responses: Responses = {"GET workspaces": listed("Notes"), "GET export": (200, archive())}
    with responding(responses) as (url, _):
        assert main(["export", target, "--server", url, "--workspace", "Notes"], KEY) == 1
    assert f"octavo: {os.path.abspath(target)} " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("responses", "said"),
    [
        ({"GET workspaces": refused(401, "not_signed_in")}, "the key is not valid, or has expired"),
        ({"GET workspaces": refused(423, "account_locked")}, "the server refused: Why. (account_l"),
        ({"GET workspaces": (200, b"<html>")}, "does not respond as Octavo does"),
        (
            {"GET workspaces": listed("Tea", "Cup")},
            "there is no workspace Notes: this account has Cup, Tea",
        ),
        (
            {"GET workspaces": listed(*(f"W{number:02}" for number in range(12)))},
            "W08, W09 and 2 others",
        ),
        ({"GET workspaces": listed()}, "there is no workspace Notes: this account has none"),
        (
            {"GET workspaces": listed("Notes", "Notes")},
            f"there are 2 workspaces with this name: give one of the ids {WORKSPACE_ID}, ",
        ),
    ],
)
def test_refusal_exits_with_1_and_one_line(
    responses: Responses, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with responding(responses) as (url, _):
        assert export(url) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert said in line
    assert "octk" not in line


def test_server_that_is_away_exits_with_1_and_its_address(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with responding({}) as (url, _):
        pass
    assert export(url) == 1
    assert capsys.readouterr().err.startswith(f"octavo: the connection to {url} failed: ")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("notes.example.org", "has to be like https://"),
        ("https://notes.example.org/api", "has to end after the host and the port"),
        ("https://notes.example.org?a=b", "has to end after the host and the port"),
    ],
)
def test_address_that_is_none_exits_with_1(
    url: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(url) == 1
    assert f"the URL of the server {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "can't be read: No such file or directory"),
        (b"no archive", "is neither a folder nor a complete zip archive"),
        (archive()[:-40], "is neither a folder nor a complete zip archive"),
    ],
)
def test_source_that_is_no_archive_is_refused_before_anything_is_sent(
    content: bytes | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path("b.zip").write_bytes(content)
    with responding({}) as (url, asked):
        assert bring(url, "b.zip") == 1
    assert asked == []
    assert f"{os.path.abspath('b.zip')} {said}" in capsys.readouterr().err


def test_files_that_can_not_be_read_are_named_before_anything_is_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("vault").mkdir()
    os.mkfifo("vault/a.md")
    os.mkfifo("vault/b.md")
    with responding({}) as (url, asked):
        assert bring(url, "vault") == 1
    assert asked == []
    assert capsys.readouterr().err.splitlines() == [
        f"octavo: {os.path.abspath('vault/a.md')}: not a regular file",
        f"octavo: {os.path.abspath('vault/b.md')}: not a regular file",
        "octavo: nothing was sent",
    ]


def test_paths_that_an_import_refuses_are_named_before_a_workspace_is_created(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("vault").mkdir()
    Path("vault/con.md").touch()
    with responding({}) as (url, asked):
        assert bring(url, "vault", "--create") == 1
    assert asked == []
    error, end = capsys.readouterr().err.splitlines()
    assert error.startswith(f"octavo: {os.path.abspath('vault/con.md')}: ")
    assert end == "octavo: nothing was sent"


@pytest.mark.parametrize(
    "options",
    [
        ["--workspace", "Notes"],
        ["vault", "--workspace", "Notes", "--abort", WORKSPACE_ID],
        ["--workspace", "Notes", "--abort", WORKSPACE_ID, "--resume", WORKSPACE_ID],
        ["--workspace", "Notes", "--abort", WORKSPACE_ID, "--create"],
        ["vault", "--workspace", "Notes", "--resume", WORKSPACE_ID, "--create"],
    ],
)
def test_options_that_exclude_each_other_exit_with_2(options: list[str]) -> None:
    with responding({}) as (url, asked):
        assert main(["import", *options, "--server", url], KEY) == 2
    assert asked == []


def test_result_of_an_import_that_was_done_before_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pack("vault.zip", "a.md")
    done = (
        b'{"importId": "%s", "state": "done", "read": 0, "total": 0, "parts": [],'
        b' "received": [], "failure": null, "result": {"notes": 0, "attachments": 0, "position": 1,'
        b' "cleaned": 0, "leftOut":'
        b' {"settings": 0, "history": 2, "other": 1}}}'
    )
    responses: Responses = {
        "GET workspaces": listed("Notes"),
        f"GET {WORKSPACE_ID}": (200, done.replace(b"%s", WORKSPACE_ID.encode())),
    }
    with responding(responses) as (url, _):
        assert bring(url, "vault.zip", "--resume", WORKSPACE_ID) == 0
    assert capsys.readouterr().out == (
        "Notes: was imported already: 0 notes and 0 images; left out: 2 history files,"
        " 1 file of other kinds\n"
    )


def pack(archive: str, *names: str) -> None:
    with zipfile.ZipFile(archive, "w") as written:
        for name in names:
            written.writestr(name, "")


@pytest.mark.parametrize("source", ["vault", "vault.zip", "empty.zip"])
def test_source_without_notes_is_an_error_and_no_workspace_is_created(
    capsys: pytest.CaptureFixture[str], source: str
) -> None:
    Path("vault").mkdir()
    Path("vault/plan.pdf").touch()
    pack("vault.zip", "plan.pdf", "notes/", ".obsidian/plan.md")
    pack("empty.zip")
    with responding({}) as (url, asked):
        assert bring(url, source, "--create") == 1
    assert asked == []
    said = f"octavo: {os.path.abspath(source)} has no notes and no images: nothing was sent\n"
    assert capsys.readouterr().err == said


def test_result_of_a_complete_import_has_nothing_of_another_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("vault").mkdir()
    Path("vault/a.md").touch()
    Path("vault/plan.pdf").touch()
    done = state_of(
        "done", {"notes": 3, "attachments": 1, "position": 1, "leftOut": {"other": 0}, "cleaned": 0}
    )
    with responding({"GET workspaces": listed("Notes"), f"GET {WORKSPACE_ID}": done}) as (url, _):
        assert bring(url, "vault", "--resume", WORKSPACE_ID) == 0
    assert capsys.readouterr().out == "Notes: was imported already: 3 notes and 1 image\n"


def test_result_says_how_many_paths_had_hidden_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("vault").mkdir()
    Path("vault/a.md").touch()
    result = {"notes": 3, "attachments": 1, "position": 1, "leftOut": {"other": 0}, "cleaned": 2}
    answers = {"GET workspaces": listed("Notes"), f"GET {WORKSPACE_ID}": state_of("done", result)}
    with responding(answers) as (url, _):
        assert bring(url, "vault", "--resume", WORKSPACE_ID) == 0
    assert capsys.readouterr().out.endswith("; without the hidden characters in 2 paths\n")


def state_of(state: str, result: object = None) -> tuple[int, bytes]:
    """The response with the state of an import."""
    given = {
        "importId": WORKSPACE_ID,
        "state": state,
        "read": 0,
        "total": 0,
        "parts": [],
        "received": [],
    }
    return 200, json.dumps({**given, "failure": None, "result": result}).encode()


@pytest.mark.parametrize("options", [(), ("--workspace", "Notes")])
def test_import_is_aborted_in_the_workspace_that_has_it(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    responses: Responses = {
        "GET workspaces": listed("Notes", "Tea"),
        f"GET {WORKSPACE_ID}": state_of("started"),
        f"DELETE {WORKSPACE_ID}": (200, b"{}"),
    }
    with responding(responses) as (url, asked):
        assert main(["import", "--abort", WORKSPACE_ID, "--server", url, *options], KEY) == 0
    assert asked[-1][0] == f"DELETE {WORKSPACE_ID}"
    assert capsys.readouterr().out == f"the import {WORKSPACE_ID} was removed\n"


def test_abort_of_a_complete_import_removes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    done = state_of(
        "done", {"notes": 3, "attachments": 1, "position": 1, "leftOut": {"other": 0}, "cleaned": 0}
    )
    with responding({"GET workspaces": listed("Notes"), f"GET {WORKSPACE_ID}": done}) as (url, _):
        assert main(["import", "--abort", WORKSPACE_ID, "--server", url], KEY) == 0
    assert "was complete already: nothing was removed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "in any workspace"), (("--workspace", "Notes"), "in the workspace Notes")],
)
def test_abort_of_an_unknown_import_fails(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    responses: Responses = {
        "GET workspaces": listed("Notes", "Tea"),
        f"GET {WORKSPACE_ID}": refused(404, "not_found"),
    }
    with responding(responses) as (url, _):
        assert main(["import", "--abort", WORKSPACE_ID, "--server", url, *options], KEY) == 1
    error = capsys.readouterr().err
    assert f"there is no import {WORKSPACE_ID} of this account {said}: " in error
    assert "--resume" not in error


def test_export_needs_a_workspace_and_a_file() -> None:
    with responding({}) as (url, asked):
        assert main(["export", "a.zip", "--server", url], KEY) == 2
        assert main(["export", "-", "--server", url, "--workspace", "Notes"], KEY) == 2
    assert asked == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("archive_job_running", "octavo: waiting: this account runs another import or export\n"),
        ("server_busy", "octavo: the server could not do it (server_busy), trying again\n"),
    ],
)
def test_reason_of_a_wait_is_shown_once_on_a_terminal(
    code: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    retrying = Retrying(attempts=3, first=0.01)
    monkeypatch.setattr(workspace_transfers, "_RETRYING", retrying)
    responses: Responses = {"GET workspaces": listed("Notes"), "GET export": refused(503, code)}
    with responding(responses) as (url, _):
        assert export(url) == 1
    shown = terminal.getvalue()
    assert shown.count(said) == 1
    assert shown.endswith(f"({code}), after 3 tries in 0 seconds\n")


def test_unknown_id_is_not_created_as_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    Path("vault").mkdir()
    Path("vault/a.md").touch()
    with responding({"GET workspaces": listed("Tea")}) as (url, asked):
        assert bring(url, "vault", "--create", workspace=WORKSPACE_ID[:-1] + "f") == 1
    assert [kind for kind, _ in asked] == ["GET workspaces"]
    error = capsys.readouterr().err
    assert "there is no workspace" in error
    assert "--create" not in error


def test_import_says_how_a_workspace_is_created(capsys: pytest.CaptureFixture[str]) -> None:
    Path("vault").mkdir()
    Path("vault/a.md").touch()
    with responding({"GET workspaces": listed("Tea")}) as (url, _):
        assert bring(url, "vault") == 1
    said = "there is no workspace Notes: this account has Tea; --create creates it"
    assert said in capsys.readouterr().err


def test_workspace_of_an_import_that_is_one_too_many_is_said_to_be_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("vault").mkdir()
    Path("vault/a.md").touch()
    made = b'{"id": "%s", "name": "Notes", "createdAt": "2026-01-01T00:00:00Z", "role": "owner"}'
    responses: dict[str, tuple[int, bytes]] = {
        "GET workspaces": listed(),
        "POST workspaces": (201, made.replace(b"%s", WORKSPACE_ID.encode())),
        "POST imports": refused(409, "too_many_imports"),
    }
    with responding(responses) as (url, _), pytest.MonkeyPatch.context() as patch:
        create = Client.create_workspace

        async def create_and_list(self: Client, name: str) -> object:
            made = await create(self, name)
            responses["GET workspaces"] = listed("Notes")
            return made

        patch.setattr(Client, "create_workspace", create_and_list)
        assert bring(url, "vault", "--create") == 1
    error = capsys.readouterr().err
    assert f"octavo import --abort ID --server {url}" in error
    assert error.endswith("octavo: the workspace Notes was created, and is empty\n")


@pytest.mark.parametrize(("status", "code"), [(503, "storage_unavailable"), (413, "storage_limit")])
def test_import_that_fails_says_how_to_continue(
    status: int, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile("b.zip", "w") as packed:
        packed.writestr("a.md", "one")
    started = b'{"importId": "%s", "partSize": 1000, "maxParts": 9}' % WORKSPACE_ID.encode()
    responses: Responses = {
        "GET workspaces": listed("Notes"),
        "POST imports": (201, started),
        "PUT 1": refused(status, code),
    }
    with responding(responses) as (url, _):
        assert bring(url, "b.zip") == 1
    assert capsys.readouterr().err.splitlines() == [
        f"octavo: the server refused: Why. ({code})",
        f"octavo: to continue, add --resume {WORKSPACE_ID}",
    ]


@pytest.mark.parametrize(
    ("responses", "said"),
    [
        ({f"GET {WORKSPACE_ID}": refused(404, "not_found")}, f"there is no import {WORKSPACE_ID} "),
        (
            {
                f"GET {WORKSPACE_ID}": (
                    200,
                    b"""{"importId": "01900000-0000-7000-8000-00000000000b", "parts": [9],
                    "state": "started", "read": 0, "total": 0, "result": null,
                    "failure": null, "received": [{"number": 9, "size": 1, "digest": ""}]}""",
                ),
                "PUT 1": (200, b'{"number": 1, "size": 22, "digest": "%s"}'),
            },
            "start a new import, without --resume",
        ),
    ],
)
def test_import_that_can_not_be_continued_says_so(
    responses: Responses, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pack("b.zip", "a.md")
    digest = sha256(Path("b.zip").read_bytes()).hexdigest()
    known = {
        kind: (status, body.replace(b"%s", digest.encode()))
        for kind, (status, body) in responses.items()
    }
    with responding({"GET workspaces": listed("Notes"), **known}) as (url, _):
        assert bring(url, "b.zip", "--resume", WORKSPACE_ID) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert said in line
