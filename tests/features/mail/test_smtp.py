"""Sending by SMTP: to a real server, and to servers that refuse, stall and hang up."""

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
import trio
import trustme

from octavo.features.mail.composition import Composer
from octavo.features.mail.settings import Sender, SmtpSecurity
from octavo.features.mail.smtp import SmtpTransport
from octavo.features.mail.transport import SendFailure
from octavo.model.access.account import Address
from tests.fakes.smtp_server import (
    PASSWORD,
    USER,
    MailServer,
    free_port,
    mail_server,
    scripted_server,
)

RECIPIENT = Address("ann@example.org")
SENDER = Sender("Octavo", Address("notes@example.org"))


def message() -> EmailMessage:
    return Composer(SENDER, "https://notes.example.org").test(RECIPIENT, mail_id="1", now=0)


def transport(
    port: int,
    security: SmtpSecurity = "none",
    *,
    host: str = "127.0.0.1",
    user: str = "",
    password: str = "",
    send_seconds: float = 20.0,
    step_seconds: float = 20.0,
) -> SmtpTransport:
    return SmtpTransport(
        host,
        port,
        security=security,
        sender=SENDER.address,
        client_host="notes.example.org",
        user=user,
        password=password,
        send_seconds=send_seconds,
        step_seconds=step_seconds,
    )


async def send(through: SmtpTransport) -> SendFailure | None:
    return await through.send(message(), RECIPIENT)


async def failure_of(through: SmtpTransport) -> SendFailure:
    failure = await send(through)
    assert failure is not None
    return failure


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


@pytest.fixture(scope="module")
def issuer() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(issuer: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this machine trust the issuer."""
    issuer.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


@pytest.fixture
def certificate(issuer: trustme.CA, tmp_path: Path) -> Path:
    """The file of a certificate for the loopback address, with its key."""
    path = tmp_path / "server.pem"
    issuer.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(path)
    return path


async def test_send_delivers_the_message_to_the_recipient(server: MailServer) -> None:
    assert await send(transport(server.port)) is None
    [received] = server.wait_for(1)
    assert server.recipients == [RECIPIENT]
    assert received["Subject"] == "Test message from notes.example.org"
    assert received["From"] == "Octavo <notes@example.org>"


async def test_send_with_starttls_and_authentication(certificate: Path, trusted: None) -> None:
    with mail_server(starttls=certificate, authenticated=True) as server:
        through = transport(server.port, "starttls", user=USER, password=PASSWORD)
        assert await send(through) is None
        assert len(server.wait_for(1)) == 1


async def test_send_with_tls(certificate: Path, trusted: None) -> None:
    with mail_server(tls=certificate) as server:
        assert await send(transport(server.port, "tls")) is None
        assert len(server.wait_for(1)) == 1


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_send_to_a_server_with_an_untrusted_certificate_fails(
    certificate: Path, security: SmtpSecurity
) -> None:
    starttls, tls = (certificate, None) if security == "starttls" else (None, certificate)
    with mail_server(starttls=starttls, tls=tls) as server:
        failure = await failure_of(transport(server.port, security))
        assert (failure.stage, failure.permanent) == ("certificate", False)
        assert server.attempted == 0


async def test_send_to_a_server_with_the_certificate_of_another_fails(
    issuer: trustme.CA, trusted: None, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    issuer.issue_cert("mail.example.org").private_key_and_cert_chain_pem.write_to_path(other)
    with mail_server(tls=other) as server:
        failure = await failure_of(transport(server.port, "tls"))
        assert failure.stage == "certificate"


async def test_starttls_is_required_when_the_server_does_not_offer_it(server: MailServer) -> None:
    failure = await failure_of(transport(server.port, "starttls"))
    assert (failure.stage, failure.permanent) == ("encryption", False)
    assert server.attempted == 0


async def test_server_that_requires_starttls_refuses_and_the_message_is_kept(
    certificate: Path,
) -> None:
    with mail_server(starttls=certificate) as server:
        failure = await failure_of(transport(server.port))
        assert (failure.stage, failure.permanent, failure.code) == ("sender", False, 530)


async def test_server_that_requires_authentication_refuses_and_the_message_is_kept(
    certificate: Path, trusted: None
) -> None:
    with mail_server(starttls=certificate, authenticated=True) as server:
        failure = await failure_of(transport(server.port, "starttls"))
        assert (failure.stage, failure.permanent, failure.code) == ("sender", False, 530)
        wrong = transport(server.port, "starttls", user=USER, password="wrong")
        failure = await failure_of(wrong)
        assert (failure.stage, failure.permanent, failure.code) == ("authentication", False, 535)


@pytest.mark.parametrize(("reply", "permanent"), [("550 no", True), ("450 later", False)])
async def test_refusal_is_permanent_by_its_reply_code(
    server: MailServer, reply: str, permanent: bool
) -> None:
    code = int(reply[:3])
    server.reply(on_recipient=f"{reply} <{RECIPIENT}>")
    failure = await failure_of(transport(server.port))
    assert failure == SendFailure("recipient", permanent, code, f"{reply} <{RECIPIENT}>")
    assert RECIPIENT not in failure.summary
    server.reply(on_recipient="250 OK", on_content=[reply])
    failure = await failure_of(transport(server.port))
    assert failure == SendFailure("content", permanent, code, reply)
    server.reply(on_sender=reply)
    failure = await failure_of(transport(server.port))
    assert failure == SendFailure("sender", permanent, code, reply)


async def test_stalled_server_fails_at_the_deadline_of_a_step(server: MailServer) -> None:
    server.reply(stalls=True)
    failure = await failure_of(transport(server.port, step_seconds=0.3))
    assert failure == SendFailure("content", detail="the server did not reply in time")


async def test_stalled_server_fails_at_the_deadline_of_the_message(server: MailServer) -> None:
    server.reply(stalls=True)
    failure = await failure_of(transport(server.port, send_seconds=0.5))
    assert failure == SendFailure("content", detail="no result within 0.5 seconds")


async def test_cancelled_send_ends(server: MailServer) -> None:
    server.reply(stalls=True)
    with trio.move_on_after(0.3) as scope:
        await send(transport(server.port))
    assert scope.cancelled_caught


async def test_send_without_a_server_fails() -> None:
    failure = await failure_of(transport(free_port()))
    assert (failure.stage, failure.permanent, failure.code) == ("connection", False, None)


async def test_send_to_an_unknown_host_fails() -> None:
    failure = await failure_of(transport(25, host="mail.invalid"))
    assert (failure.stage, failure.permanent) == ("connection", False)


@pytest.mark.parametrize(
    ("replies", "stage"),
    [
        ((), "connection"),
        ((b"554 no service\r\n",), "connection"),
        ((b"nonsense\r\n",), "connection"),
        ((b"220 \xff\xfe\r\n", b"250 \xff\r\n", b"250 \xff\r\n", b"4\xff\r\n"), "recipient"),
        ((b"220 a\r\n", b"250 a\r\n", b"250 a\r\n", b"250 a\r\n"), "content"),
        ((b"220 a\r\n", b"250 a\r\n", b"250 a\r\n", b"250 a\r\n", b"354 a\r\n"), "content"),
    ],
)
async def test_server_that_hangs_up_or_speaks_nonsense_fails_and_the_message_is_kept(
    replies: tuple[bytes, ...], stage: str
) -> None:
    with scripted_server(*replies) as port:
        failure = await failure_of(transport(port, step_seconds=2.0))
    assert (failure.stage, failure.permanent) == (stage, False)
    assert failure.detail.isprintable()


async def test_message_that_was_accepted_is_sent_though_the_end_of_the_connection_fails() -> None:
    opening = (b"220 a\r\n", b"250 a\r\n", b"250 a\r\n", b"250 a\r\n", b"354 a\r\n")
    lines = len(message().as_bytes().splitlines())
    # The reply to the content follows its last line, which is a dot.
    with scripted_server(*opening, *[b""] * lines, b"250 a\r\n") as port:
        assert await send(transport(port)) is None
    with scripted_server(*opening, *[b""] * lines, b"250 a\r\n", stalls=True) as port:
        assert await send(transport(port, send_seconds=0.5)) is None
