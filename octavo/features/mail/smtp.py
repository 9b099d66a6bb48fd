"""Send messages to a mail server by SMTP (RFC 5321), with aiosmtplib.

aiosmtplib needs asyncio, whose loop runs in a thread for one message. So a cancelled or failed
exchange leaves nothing behind, and an accepted message is reported even if its caller was cancelled
meanwhile. Each message has a connection of its own: an installation sends few, and a kept
connection may be dead.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from email.message import EmailMessage

import aiosmtplib
import trio
from attrs import define

from octavo.features.mail.settings import SmtpSecurity
from octavo.features.mail.transport import SendFailure, Stage

STEP_SECONDS = 20.0
"""Seconds that the server may take for a reply."""
SEND_SECONDS = 60.0
"""Seconds for a message, from the name of the server to its acceptance."""
QUIT_SECONDS = 2.0
"""Seconds for the end of a connection, after the acceptance."""
CANCEL_SECONDS = 0.1
"""Seconds until an exchange notices that its caller was cancelled."""

_CLOSING_STEPS = 5

# They concern the connection, not the message: encryption or authentication is required
# (RFC 3207 section 4, RFC 4954 section 6).
_OF_THE_CONNECTION = (421, 530, 535, 538)


class _Failed(Exception):
    def __init__(self, failure: SendFailure) -> None:
        super().__init__(failure.summary)
        self.failure = failure


@define(eq=False)
class SmtpTransport:
    """Sends messages through one mail server.

    Args:
        host: its name or address; the certificate must be valid for it.
        port: its port.
        security: ``starttls`` and ``tls`` require encryption and a valid certificate.
        sender: the address that errors are returned to (RFC 5321 section 3.6.3).
        client_host: the name that this client gives itself.
        user: the name to authenticate with; empty for no authentication.
        password: its password.
        send_seconds: seconds for a message.
        step_seconds: seconds that the server may take for a reply.
    """

    _host: str
    _port: int
    _security: SmtpSecurity
    _sender: str
    _client_host: str
    _user: str = ""
    _password: str = ""
    _send_seconds: float = SEND_SECONDS
    _step_seconds: float = STEP_SECONDS

    async def send(self, message: EmailMessage, recipient: str) -> SendFailure | None:
        """Send a message to one recipient; return None when the mail server has accepted it.

        It ends within the deadlines of the constructor. If cancelled, it ends within
        `CANCEL_SECONDS`; it returns None if the message was accepted by then, and otherwise raises
        Cancelled. After that, and after a failure in the stage ``content``, the message may have
        been accepted.
        """
        exchange = _Exchange(self._client())
        await trio.to_thread.run_sync(self._run, exchange, message.as_bytes(), recipient)
        if exchange.accepted:
            return None
        return exchange.failure or SendFailure(
            exchange.stage, detail=f"no result within {self._send_seconds:g} seconds"
        )

    def _run(self, exchange: "_Exchange", content: bytes, recipient: str) -> None:
        """Run the exchange in this thread, in a loop that trio-asyncio does not know."""
        loop = asyncio.SelectorEventLoop()
        # Nothing else runs in it, so a slow step delays nobody, and is not worth a warning.
        loop.slow_callback_duration = self._send_seconds
        try:
            loop.run_until_complete(self._until_deadline(exchange, content, recipient))
        finally:
            # This does not wait for the look-up of a name.
            loop.close()
        if not exchange.accepted:
            trio.from_thread.check_cancelled()

    async def _until_deadline(self, exchange: "_Exchange", content: bytes, recipient: str) -> None:
        task = asyncio.create_task(self._exchange(exchange, content, recipient))
        deadline = asyncio.get_running_loop().time() + self._send_seconds
        while not task.done():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or _caller_cancelled():
                task.cancel()
                left = QUIT_SECONDS
            await asyncio.wait([task], timeout=min(left, CANCEL_SECONDS))
        if not task.cancelled():
            task.result()
        # Closed sockets are released in the next iterations: those of TLS in several steps.
        for _ in range(_CLOSING_STEPS):
            await asyncio.sleep(0)

    def _client(self) -> aiosmtplib.SMTP:
        # Created for each message: the certificates of the system may have been replaced.
        context = None if self._security == "none" else ssl.create_default_context()
        return aiosmtplib.SMTP(
            hostname=self._host,
            port=self._port,
            local_hostname=self._client_host,
            timeout=self._step_seconds,
            use_tls=self._security == "tls",
            start_tls=False,
            tls_context=context,
        )

    async def _exchange(self, exchange: "_Exchange", content: bytes, recipient: str) -> None:
        """Exchange the commands of one message."""
        client = exchange.client
        try:
            await exchange.step("connection", client.connect)
            if self._security == "starttls":
                await exchange.step("encryption", client.starttls)
            if self._user:
                await exchange.step(
                    "authentication", lambda: client.login(self._user, self._password)
                )
            await exchange.step("sender", lambda: client.mail(self._sender))
            await exchange.step("recipient", lambda: client.rcpt(recipient))
            await exchange.step("content", lambda: client.data(content))
            exchange.accepted = True
            with suppress(aiosmtplib.SMTPException, OSError):
                await client.quit(timeout=QUIT_SECONDS)
        except _Failed as failed:
            exchange.failure = failed.failure
        finally:
            client.close()
            if isinstance(exchange.transport, asyncio.WriteTransport):
                # A TLS connection would wait for the server, and the loop ends now.
                exchange.transport.abort()


def _caller_cancelled() -> bool:
    try:
        trio.from_thread.check_cancelled()
    except trio.Cancelled:
        return True
    return False


class _Exchange:
    """The progress of one message."""

    def __init__(self, client: aiosmtplib.SMTP) -> None:
        self.client = client
        self.stage: Stage = "connection"
        self.accepted = False
        self.failure: SendFailure | None = None
        self.transport: asyncio.BaseTransport | None = None

    async def step(self, stage: Stage, command: Callable[[], Awaitable[object]]) -> None:
        """Run one command. Raises `_Failed`."""
        self.stage = stage
        try:
            await command()
        except aiosmtplib.SMTPResponseException as error:
            permanent = (
                stage in ("sender", "recipient", "content")
                and 500 <= error.code <= 599
                and error.code not in _OF_THE_CONNECTION
            )
            raise _Failed(
                SendFailure(stage, permanent, error.code, f"{error.code} {_line(error.message)}")
            ) from error
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise _Failed(_without_reply(stage, error)) from error
        finally:
            # The client forgets it when it closes the connection.
            self.transport = self.client.transport or self.transport


def _without_reply(stage: Stage, error: Exception) -> SendFailure:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return SendFailure("certificate", detail=_line(cause.verify_message))
        if isinstance(cause, ssl.SSLError):
            return SendFailure("encryption", detail=_line(str(cause)))
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, aiosmtplib.SMTPTimeoutError):
        return SendFailure(stage, detail="the server did not reply in time")
    if isinstance(error, aiosmtplib.SMTPServerDisconnected):
        return SendFailure(stage, detail="the server closed the connection")
    return SendFailure(stage, detail=_line(str(error)))


def _line(text: str) -> str:
    """Return ``text`` on one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in text)[:500]
