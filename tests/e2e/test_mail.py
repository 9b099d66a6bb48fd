"""Mail of real servers: crashes between acceptance and mark, several processes, outages."""

import re
import sqlite3
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import httpx
import pytest

from tests.e2e.databases import new_database
from tests.e2e.octavo_process import PUBLIC, data_folder, running
from tests.e2e.people import PASSWORD, client, join, settle
from tests.fakes.smtp_server import MailServer, free_port, mail_server

OURS = {"origin": PUBLIC}
REQUESTS = 5


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


def options(port: int) -> tuple[str, ...]:
    return (
        *("--smtp-host", "127.0.0.1", "--smtp-port", str(port), "--smtp-security", "none"),
        *("--mail-from", "notes@example.org", "--mail-per-address", "100"),
    )


def request(http: httpx.Client, address: str) -> None:
    given = {"email": address}
    response = http.post("/api/auth/request-password-reset", json=given, headers=OURS)
    assert response.status_code == 200, response.text


def token_of(server: MailServer, number: int) -> str:
    body = server.wait_for(number + 1)[number].get_body(("plain",))
    assert body is not None
    found = re.search(r"\?token=(\S+)", body.get_content())
    assert found is not None
    return found[1]


def test_message_is_sent_again_after_a_crash_between_acceptance_and_mark(
    mail: MailServer,
) -> None:
    with data_folder() as folder:
        with running(folder, *options(mail.port)) as octavo:
            person = settle(octavo)
            mail.reply(stalls=True)
            with client(octavo.url) as http:
                request(http, person.address)
            # Accepted; the reply is withheld, so the server can't know.
            first = token_of(mail, 0)
            octavo.kill()
        mail.reply(stalls=False)
        with running(folder, *options(mail.port)) as octavo:
            second = token_of(mail, 1)
            assert mail.recipients == [person.address] * 2
            ids = {message["Message-ID"] for message in mail.messages}
            assert len(ids) == 1
            with client(octavo.url) as http:
                for token, status in ((first, 200), (second, 400)):
                    given = {"newPassword": PASSWORD, "token": token}
                    done = http.post("/api/auth/reset-password", json=given, headers=OURS)
                    assert done.status_code == status, done.text
            mail.wait_for(3)
            assert octavo.stop() == (0, [])
        with closing(sqlite3.connect(folder / "octavo.sqlite3")) as connection:
            # Neither a message nor a token is left.
            assert connection.execute("SELECT COUNT(*) FROM outbox").fetchone() == (0,)
            assert connection.execute("SELECT COUNT(*) FROM password_resets").fetchone() == (0,)
        stored = b"".join(path.read_bytes() for path in folder.glob("octavo.sqlite3*"))
        assert first.encode() not in stored
        assert second.encode() not in stored


def test_message_waits_for_a_mail_server_that_is_down() -> None:
    port = free_port()
    with data_folder() as folder, running(folder, *options(port)) as octavo:
        person = settle(octavo)
        with client(octavo.url) as http:
            request(http, person.address)
        octavo.log.find(r"(mail \S+ \(password_reset\) was not sent: connection; attempt 2)")
        with mail_server(port=port) as mail:
            assert token_of(mail, 0)
        code, warnings = octavo.stop()
        assert code == 0
        assert [each for each in warnings if "was not sent: connection" not in each] == []
        assert person.address not in "".join(octavo.log.all)


def test_two_servers_on_one_database_send_each_message_once(
    mail: MailServer, postgres_server: str
) -> None:
    with ExitStack() as stack:
        database = stack.enter_context(new_database(postgres_server))
        folders = [stack.enter_context(data_folder()) for _ in range(2)]
        servers = [
            stack.enter_context(running(folder, "--database", database, *options(mail.port)))
            for folder in folders
        ]
        people = [settle(servers[0])]
        people += [join(folders[0], database) for _ in range(3)]
        clients = [stack.enter_context(client(server.url)) for server in servers]
        for number in range(REQUESTS):
            for person in people:
                request(clients[number % 2], person.address)
        total = REQUESTS * len(people)
        mail.wait_for(total)
        for server in servers:
            assert server.stop() == (0, [])
        assert len(mail.messages) == total
        assert len({message["Message-ID"] for message in mail.messages}) == total


def test_request_takes_the_same_time_for_known_and_unknown_addresses(mail: MailServer) -> None:
    limits = ("--sign-in-attempts-per-client", "1000", "--sign-in-attempts-per-address", "1000")
    with data_folder() as folder, running(folder, *options(mail.port), *limits) as octavo:
        person = settle(octavo)
        taken: dict[str, list[float]] = {person.address: [], "nobody@example.org": []}
        with client(octavo.url) as http:
            for _ in range(40):
                for address, times in taken.items():
                    began = time.perf_counter()
                    request(http, address)
                    times.append(time.perf_counter() - began)
        # What else runs slows requests down, and never makes one faster: the lower quartiles tell.
        # Half is generous: the work for both is the same.
        known, unknown = (statistics.quantiles(times)[0] for times in taken.values())
        assert abs(known - unknown) < 0.5 * max(known, unknown)
        assert octavo.stop() == (0, [])
