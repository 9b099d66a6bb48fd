"""What removed accounts, deleted workspaces and purged files leave: ids and times alone."""

import asyncio
import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import httpx
import pytest
import trio
from PIL.PngImagePlugin import PngInfo
from zstandard import ZstdDecompressor, ZstdError

from octavo.model.access.token import digest_of, operator_token
from tests.e2e.databases import new_database
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.people import PASSWORD, Person, client, invite, register, settle
from tests.e2e.pictures import Pictures, new_workspace
from tests.e2e.server import PATIENCE
from tests.fakes.image_files import encoded, picture

MARK = "kolibri7351"
GUEST = "pelikan9462@example.org"
TOKEN = operator_token(bytes(32))
PENDING = ("deleted_workspaces", "purged_contents", "audit_erasures", "deleted_blobs")
"""Tables of data that is still to be removed, in steps."""

Tables = dict[str, list[tuple[object, ...]]]


def tables_of_sqlite(folder: Path) -> Tables:
    """Every row of every table, with those of the full text index, and its terms."""
    with closing(sqlite3.connect(folder / "octavo.sqlite3", timeout=PATIENCE)) as connection:
        names = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        ]
        found: Tables = {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for name in names
            if name != "search"
        }
        # The index stores terms without what they share with the term before.
        connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, search, row)")
        found["terms"] = connection.execute("SELECT term FROM temp.terms").fetchall()
        return found


def tables_of_postgres(url: str) -> Tables:
    """Every row of every table."""

    async def read() -> Tables:
        connection = await asyncpg.connect(url)
        try:
            names = await connection.fetch(
                "SELECT tablename FROM pg_tables WHERE schemaname = $1", "public"
            )
            found: Tables = {}
            for [name] in names:
                rows = await connection.fetch(f'SELECT * FROM "{name}"')
                found[name] = [tuple(row.values()) for row in rows]
            return found
        finally:
            await connection.close()

    return asyncio.run(read())


def contents(tables: Tables) -> bytes:
    """The values of all rows, with the text of those that are compressed."""
    decompress = ZstdDecompressor().decompress
    found = bytearray()
    for rows in tables.values():
        for value in (each for row in rows for each in row):
            if isinstance(value, bytes):
                found += value + b"\n"
                with suppress(ZstdError):
                    found += decompress(value) + b"\n"
            else:
                found += str(value).encode() + b"\n"
    return bytes(found)


@dataclass
class Installation:
    """A server, and direct access to its database."""

    octavo: Octavo
    root: Person
    database: str | None

    def tables(self) -> Tables:
        if self.database is not None:
            return tables_of_postgres(self.database)
        return tables_of_sqlite(self.octavo.folder)

    async def swept(self) -> None:
        """Wait until nothing is left to be removed."""
        with trio.fail_after(PATIENCE):
            while True:
                tables = await trio.to_thread.run_sync(self.tables)
                erasure = tables.get("fulltext_erasure", [(0,)])
                left = [row for name in PENDING for row in tables[name]]
                # Blobs that are to be checked, and uploads that were ended.
                left += [
                    row for name in ("blobs", "uploads") for row in tables[name] if row[-1] == 0
                ]
                if not left and erasure == [(0,)]:
                    return
                await trio.sleep(0.05)

    def everything(self) -> bytes:
        """What the database and the data folder of the stopped server contain."""
        if self.database is None:
            with closing(
                sqlite3.connect(self.octavo.folder / "octavo.sqlite3", isolation_level=None)
            ) as connection:
                for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM"):
                    connection.execute(statement)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        files = [each for each in self.octavo.folder.rglob("*") if each.is_file()]
        return contents(self.tables()) + b"".join(each.read_bytes() for each in files)

    def stored_digests(self) -> list[str]:
        """The digests of the files in the folder of the blobs, in their order."""
        files = [each for each in (self.octavo.folder / "blobs").rglob("*") if each.is_file()]
        return sorted(hashlib.sha256(each.read_bytes()).hexdigest() for each in files)

    def staged(self) -> list[Path]:
        """The files on their way to the blob store."""
        return [*(self.octavo.folder / "staging").glob("*/*")]


@pytest.fixture(params=["sqlite", "postgres"])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    options: tuple[str, ...] = ("--operator-tokens", digest_of(TOKEN.encode()).hex())
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        database = None
        if request.param == "postgres":
            server = request.getfixturevalue("postgres_server")
            database = stack.enter_context(new_database(server))
            options += ("--database", database)
        octavo = stack.enter_context(running(folder, *options))
        yield Installation(octavo, settle(octavo), database)


def marked_image(number: int) -> bytes:
    """A PNG with the mark in a chunk of text, which the server leaves as it is."""
    info = PngInfo()
    info.add_text("Comment", f"{MARK} {number}")
    return encoded(picture((300, 200), seed=number), "PNG", pnginfo=info)


def live(installation: Installation, ann: Person) -> None:
    """Leave as much as an account can: names, notes, keys, sessions, invitations, refusals."""
    with client(installation.octavo.url) as http:

        def done(method: str, path: str, who: Person = ann, **given: Any) -> Any:  # noqa: ANN401
            response = http.request(method, path, headers=who.by_key, **given)
            assert response.is_success, response.text
            return response.json()

        done("PATCH", "/api/account", json={"displayName": f"Ann {MARK}"})
        done("POST", "/api/account/keys", json={"name": f"key {MARK}"})
        base = f"/api/workspaces/{done('POST', '/api/workspaces', json={'name': MARK})['id']}"
        for number in range(30):
            given = {
                "path": f"{MARK} {number}.md",
                "text": f"# {MARK}\n\n{'some text ' * 200}{MARK}",
            }
            note = done("POST", f"{base}/files", json=given)
            headers = {**ann.by_key, "if-match": f'"{note["revision"]["id"]}"'}
            if number % 3 == 0:
                changed = http.put(
                    f"{base}/files/{note['fileId']}",
                    json={"text": f"{MARK} again"},
                    headers=headers,
                )
                assert changed.is_success, changed.text
            if number % 3 == 1:
                assert http.delete(f"{base}/files/{note['fileId']}", headers=headers).is_success
        assert MARK in str(done("GET", f"{base}/search?q={MARK}"))
        pictures = Pictures(http, ann, base)
        first = pictures.attach(marked_image(0), f"{MARK}.png")
        pictures.show(first, 160)
        pictures.attach(marked_image(1), f"{MARK}.png", first)
        # One that was not attached.
        pictures.upload(marked_image(2))
        invited_to = {"role": "reader", "address": GUEST}
        done("POST", f"{base}/invitations", json=invited_to)
        done("POST", "/api/invitations", installation.root, json={"address": ann.address})
        path = f"/api/accounts/{ann.account_id}"
        locked = {"controls": {"revision": 1, "locked": True, "lockReason": f"reason {MARK}"}}
        done("PATCH", path, installation.root, json=locked)
        assert sign_in(http, ann, PASSWORD, f"browser {MARK}").status_code == 200
        assert sign_in(http, ann, "a wrong guess", "").status_code == 401


def sign_in(http: httpx.Client, person: Person, password: str, device: str) -> httpx.Response:
    given = {"email": person.address, "password": password}
    headers = {"origin": PUBLIC, "user-agent": device}
    return http.post("/api/auth/sign-in/email", json=given, headers=headers)


def remove(installation: Installation, ann: Person, way: str) -> None:
    """Remove the account, by itself, an administrator or the operator."""
    with client(installation.octavo.url) as http:
        match way:
            case "own":
                given = {"password": PASSWORD}
                response = http.post("/api/account/removal", json=given, headers=ann.by_cookie)
            case "administrator":
                path = f"/api/accounts/{ann.account_id}"
                response = http.delete(path, headers=installation.root.by_key)
            case _:
                path = f"/api/operator/accounts/{ann.account_id}"
                response = http.delete(path, headers={"authorization": f"Bearer {TOKEN}"})
        assert response.status_code == 200, response.text


@pytest.mark.parametrize("way", ["own", "administrator", "operator"])
def test_nothing_of_a_removed_account_is_left(installation: Installation, way: str) -> None:
    octavo = installation.octavo
    ann = register(octavo.url, invite(octavo.folder, installation.database))
    live(installation, ann)
    before = installation.tables()
    # Two revisions, an upload, and a thumbnail.
    assert len(installation.stored_digests()) == 4
    rows = [row for row in before["accounts"] if ann.address in row]
    [password] = [each for each in rows[0] if str(each).startswith("$argon2id$")]
    secrets = [ann.key, ann.cookie.partition("=")[2]]
    digests = [hashlib.sha256(each.encode()).digest() for each in secrets]
    traces = [each.encode() for each in (ann.address, MARK, GUEST, str(password))] + digests
    known = contents(before).lower()
    # What is to be absent later is found now: the search finds it in every form.
    assert [each for each in traces if each.lower() not in known] == []
    for table in ("accounts", "contents", "files", "revisions", "api_keys", "sessions"):
        assert MARK.encode() in contents({table: before[table]}).lower(), table

    remove(installation, ann, way)
    trio.run(installation.swept)
    code, lines = octavo.stop()
    assert (code, lines) == (0, [])
    left = installation.everything().lower()
    searched = [
        *traces,
        *(each.encode() for each in secrets),
        *(each.hex().encode() for each in digests),
    ]
    assert [each for each in searched if each.lower() in left] == []
    assert (installation.stored_digests(), installation.staged()) == ([], [])
    # The audit keeps ids and times.
    after = installation.tables()
    account_id = ann.account_id.replace("-", "")
    stored = [
        [each.hex() if isinstance(each, bytes) else str(each).replace("-", "") for each in row]
        for row in after["audit"]
    ]
    theirs = [row for row in stored if account_id in row]
    assert {"account_registered", "account_removed", "sign_in", "attempt_refused"} <= {
        each for row in theirs for each in row
    }
    # By an administrator or the operator, the client of these is not that of the account.
    others = {"account_removed", "controls_changed"}
    assert [row for row in theirs if "127.0.0.1" in row and not others & {*row}] == []


def test_revisions_in_workspaces_of_others_stay_without_a_name(installation: Installation) -> None:
    octavo, root = installation.octavo, installation.root
    ann = register(octavo.url, invite(octavo.folder, installation.database))
    with client(octavo.url) as http:

        def done(method: str, path: str, who: Person, **given: Any) -> Any:  # noqa: ANN401
            response = http.request(method, path, headers=who.by_key, **given)
            assert response.is_success, response.text
            return response.json()

        ours = done("POST", "/api/workspaces", root, json={"name": "Ours"})
        base = f"/api/workspaces/{ours['id']}"
        sent = done("POST", f"{base}/invitations", root, json={"role": "editor"})
        done("POST", "/api/invitations/accept", ann, json={"token": sent["token"]})
        made = done("POST", f"{base}/files", ann, json={"path": "a.md", "text": "Hers."})
        path = f"{base}/files/{made['fileId']}/revisions"
        [before] = done("GET", path, root)["items"]
        remove(installation, ann, "administrator")
        [after] = done("GET", path, root)["items"]
    assert (before["authorName"], after["authorName"]) == ("Somebody", None)
    assert before["author"] == after["author"] == ann.account_id
    assert before["digest"] == after["digest"]


def everything_of_images(installation: Installation) -> bytes:
    """Stop the server, and return what its database and its data folder contain."""
    assert installation.octavo.stop() == (0, [])
    return installation.everything()


def test_nothing_of_the_images_of_a_purged_file_is_left(installation: Installation) -> None:
    shared, only = marked_image(0), marked_image(1)
    with client(installation.octavo.url) as http:
        ours, others = (new_workspace(http, installation.root, name) for name in ("A", "B"))
        first = ours.attach(shared, "a.png")
        # The one of an earlier revision, and a thumbnail of it.
        second = ours.attach(only, "a.png", first)
        ours.show(second, 160)
        third = ours.attach(shared, "a.png", second)
        kept = others.attach(shared, "b.png")
        both = [hashlib.sha256(each).hexdigest() for each in (shared, only)]
        assert {*both} < {*installation.stored_digests()}
        ours.purge(third)
        trio.run(installation.swept)
        # Another workspace has one of them.
        assert installation.stored_digests() == both[:1]
        assert others.show(kept) == shared
        others.purge(kept)
        trio.run(installation.swept)
    assert (installation.stored_digests(), installation.staged()) == ([], [])
    assert MARK.encode() not in everything_of_images(installation)


def test_nothing_of_the_images_of_a_deleted_workspace_is_left(installation: Installation) -> None:
    shared, only, uploaded = (marked_image(number) for number in range(3))
    with client(installation.octavo.url) as http:
        ours, others = (new_workspace(http, installation.root, name) for name in ("A", "B"))
        first = ours.attach(only, "a.png")
        ours.show(first, 480)
        ours.attach(shared, "a.png", first)
        ours.upload(uploaded)
        kept = others.attach(shared, "b.png")
        ours.ask("DELETE", "")
        trio.run(installation.swept)
        assert installation.stored_digests() == [hashlib.sha256(shared).hexdigest()]
        assert others.show(kept) == shared
        others.ask("DELETE", "")
        trio.run(installation.swept)
    assert (installation.stored_digests(), installation.staged()) == ([], [])
    assert MARK.encode() not in everything_of_images(installation)
