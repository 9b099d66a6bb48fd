"""A mail server in a process of its own: aiosmtpd, controlled by lines of JSON.

The first line of standard input has the options. Each further line replaces replies, and is
confirmed. At its end the server finishes its conversations, so that each client learns that its
message was accepted, unless they stall. A process of its own keeps the event loop of aiosmtpd apart
from those of the tests, whose policy trio-asyncio replaces.
"""

import asyncio
import base64
import json
import ssl
import sys
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

FINISHING_SECONDS = 10


def tell(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


class Handler:
    """Replies as it is told, and reports what arrives."""

    def __init__(self) -> None:
        self.replies: dict[str, Any] = {
            "on_sender": "250 OK",
            "on_recipient": "250 OK",
            "on_content": [],
            "stalls": False,
        }

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply: str = self.replies["on_sender"]
        if reply.startswith("2"):
            envelope.mail_from = address
        return reply

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply: str = self.replies["on_recipient"]
        if reply.startswith("2"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        content = envelope.original_content or b""
        reply = self.replies["on_content"].pop(0) if self.replies["on_content"] else "250 OK"
        if reply.startswith("2"):
            encoded = base64.b64encode(content).decode()
            tell(event="accepted", recipients=envelope.rcpt_tos, content=encoded)
        else:
            tell(event="refused")
        # The message was accepted, and the client does not learn it.
        if self.replies["stalls"]:
            await asyncio.sleep(3600)
        return str(reply)


def context_of(file: str | None) -> ssl.SSLContext | None:
    if file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


async def serve(options: dict[str, Any]) -> None:
    handler = Handler()

    def authenticate(
        server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object
    ) -> AuthResult:
        known = (
            isinstance(data, LoginPassword)
            and [
                data.login.decode(),
                data.password.decode(),
            ]
            == options["credentials"]
        )
        return AuthResult(success=known, handled=False)

    def connection() -> SMTP:
        starttls = context_of(options["starttls"])
        return SMTP(
            handler,
            tls_context=starttls,
            require_starttls=starttls is not None,
            auth_required=options["credentials"] is not None,
            auth_require_tls=starttls is not None,
            authenticator=authenticate,
            hostname="mail.test",
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        connection, "127.0.0.1", options["port"], ssl=context_of(options["tls"])
    )
    tell(event="listening", port=server.sockets[0].getsockname()[1])
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        handler.replies.update(json.loads(line))
        tell(event="set")
    conversations = asyncio.all_tasks() - {asyncio.current_task()}
    if conversations and not handler.replies["stalls"]:
        await asyncio.wait(conversations, timeout=FINISHING_SECONDS)


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.stdin.readline())))
