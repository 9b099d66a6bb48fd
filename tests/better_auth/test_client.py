"""The JavaScript client of better-auth, unchanged, against a running server and a mail server."""

import re
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from tests.better_auth.browser import Browser, browser, missing
from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.people import PASSWORD, Person, invite, register
from tests.fakes.smtp_server import MailServer, mail_server

NEW = "an open jar of rye"


@pytest.fixture(scope="module")
def mail() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture(scope="module")
def octavo(mail: MailServer) -> Iterator[Octavo]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    options = (
        "--smtp-host",
        "127.0.0.1",
        "--smtp-port",
        str(mail.port),
        "--smtp-security",
        "none",
        "--mail-from",
        "Octavo <notes@example.org>",
    )
    with data_folder() as folder, running(folder, *options) as started:
        yield started
        assert started.stop() == (0, [])


@pytest.fixture(scope="module")
def person(octavo: Octavo) -> Person:
    return register(octavo.url, octavo.invitation())


@pytest.fixture
def page(octavo: Octavo) -> Iterator[Browser]:
    with browser(octavo.url) as opened:
        yield opened


def token_of(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert body is not None
    found = re.search(r"/reset-password\?token=(\S+)", body.get_content())
    assert found is not None
    return found[1]


def test_client_signs_in_reads_its_session_and_signs_out(page: Browser, person: Person) -> None:
    assert page.call("getSession")["data"] is None
    signed_in = page.call("signIn", email=person.address, password=PASSWORD)
    assert signed_in["error"] is None
    assert signed_in["data"]["user"]["email"] == person.address
    session = page.call("getSession")["data"]
    assert session["user"]["id"] == session["session"]["userId"] == person.account_id
    assert page.call("signOut")["data"] == {"success": True}
    assert page.call("getSession")["data"] is None


def test_client_shows_refusals(page: Browser, person: Person) -> None:
    refused = page.call("signIn", email=person.address, password="another password")
    assert refused["data"] is None
    assert refused["error"]["status"] == 401
    assert refused["error"]["code"] == "credential_refused"
    assert refused["error"]["message"]
    refused = page.call("resetPassword", newPassword=NEW, token="a" * 43)
    assert (refused["error"]["status"], refused["error"]["code"]) == (400, "invalid_token")
    assert refused["error"]["message"]


def test_client_resets_a_forgotten_password(
    page: Browser, person: Person, octavo: Octavo, mail: MailServer
) -> None:
    page.call("signIn", email=person.address, password=PASSWORD)
    unknown = page.call("requestPasswordReset", email="nobody@example.org")
    asked = page.call("requestPasswordReset", email=person.address, redirectTo="/reset-password")
    assert asked == unknown
    assert asked["error"] is None
    assert asked["data"]["status"] is True
    token = token_of(mail.wait_for(1)[0])
    assert mail.recipients == [person.address]
    done = page.call("resetPassword", newPassword=NEW, token=token)
    assert done == {"data": {"status": True}, "error": None}
    assert page.call("getSession")["data"] is None
    assert page.call("signIn", email=person.address, password=PASSWORD)["error"]["status"] == 401
    assert page.call("signIn", email=person.address, password=NEW)["error"] is None
    again = page.call("resetPassword", newPassword=PASSWORD, token=token)
    assert again["error"]["code"] == "invalid_token"
    notice = mail.wait_for(2)[1]
    assert notice["Subject"] == "Your password for notes.example.org was changed"
    assert token not in "".join(octavo.log.all)
    assert person.address not in "".join(octavo.log.all)


def test_client_changes_a_password(page: Browser, octavo: Octavo, mail: MailServer) -> None:
    other = register(octavo.url, invite(octavo.folder))
    page.call("signIn", email=other.address, password=PASSWORD)
    changed = page.call("changePassword", currentPassword=PASSWORD, newPassword=NEW)
    assert changed["error"] is None
    assert changed["data"]["user"]["email"] == other.address


def test_browser_without_node_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "apt-get install nodejs npm" in (missing() or "")
