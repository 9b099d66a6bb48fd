"""What delivery needs of a mail server, and how sending fails."""

from dataclasses import dataclass
from email.message import EmailMessage
from typing import Literal, Protocol

Stage = Literal[
    "connection", "certificate", "encryption", "authentication", "sender", "recipient", "content"
]
"""The part of an exchange with a mail server that failed."""


@dataclass(frozen=True, slots=True)
class SendFailure:
    """A message was not sent, or its outcome is unknown.

    Attributes:
        stage: where.
        permanent: whether repeating it is useless: the server refused this message for ever. A
            refusal of the connection or of the credentials is not permanent, because it concerns
            the settings.
        code: the reply code of the server (RFC 5321 section 4.2); None without a reply.
        detail: what the server or the system said, in one line; it may contain addresses, so it
            must not be logged.
    """

    stage: Stage
    permanent: bool = False
    code: int | None = None
    detail: str = ""

    @property
    def summary(self) -> str:
        """The failure without addresses and secrets, for the log."""
        reply = "" if self.code is None else f" (reply {self.code})"
        return f"{self.stage}{reply}"


class MailTransport(Protocol):
    """Sends messages."""

    async def send(self, message: EmailMessage, recipient: str) -> SendFailure | None:
        """Send a message to one recipient; return None when the mail server has accepted it.

        It ends within a deadline. If cancelled, the message may have been accepted.
        """
