"""Compose messages from templates, in plain text and HTML."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.headerregistry import Address as HeaderAddress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from octavo.features.mail.rules import MailKind
from octavo.features.mail.settings import Sender
from octavo.model.access.account import Account, Address
from octavo.templates import folder_of

# Every server relays lines of ASCII.
_POLICY = SMTP.clone(cte_type="7bit")
_SUBJECTS: Mapping[MailKind, str] = {
    "link_reported": "A published link at {} was reported",
    "link_taken_down": "A published link of yours at {} was taken down",
    "password_changed": "Your password for {} was changed",
    "password_reset": "Choose a new password for {}",
}


class Composer:
    """Composes the messages of an installation.

    No message contains a display name: somebody else may have registered the address, with a name
    that misleads its owner.

    Args:
        sender: the sender of each message.
        public_url: the origin of the installation.
    """

    def __init__(self, sender: Sender, public_url: str) -> None:
        self._sender = sender
        self._public_url = public_url
        self._host = urlsplit(public_url).netloc
        self._templates = Environment(
            loader=FileSystemLoader(folder_of("mail")),
            autoescape=select_autoescape(("html",)),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def message(
        self, kind: MailKind, account: Account, *, mail_id: str, now: float, **values: object
    ) -> EmailMessage:
        """Return a message of this kind; ``values`` are the variables of its templates."""
        subject = _SUBJECTS[kind].format(self._host)
        return self._compose(kind, subject, account.address, mail_id, now, **values)

    def test(self, address: Address, *, mail_id: str, now: float) -> EmailMessage:
        """Return a message that shows that sending works."""
        return self._compose("test", f"Test message from {self._host}", address, mail_id, now)

    def _compose(
        self,
        template: str,
        subject: str,
        address: Address,
        mail_id: str,
        now: float,
        **values: object,
    ) -> EmailMessage:
        """Return a message; the same arguments give the same bytes.

        Args:
            template: the name of the templates for text and HTML, without suffix.
            subject: the subject.
            address: the recipient.
            mail_id: unique for the message. Servers and clients recognize repeated copies by it.
            now: the time in seconds of Unix time.
            values: the variables of the templates.
        """
        values |= {"host": self._host, "url": self._public_url}
        message = EmailMessage(policy=_POLICY)
        message["From"] = HeaderAddress(self._sender.name, addr_spec=self._sender.address)
        message["To"] = address
        message["Subject"] = subject
        message["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
        message["Message-ID"] = f"<{mail_id}@{self._sender.address.partition('@')[2]}>"
        # Automatic replies are not wanted (RFC 3834 section 5).
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(self._templates.get_template(f"{template}.txt").render(values))
        html = self._templates.get_template(f"{template}.html").render(values)
        message.add_alternative(html, subtype="html")
        # A boundary that contains "=_" occurs in no encoded text (RFC 2045 section 6.7).
        message.set_boundary(f"=_{mail_id}")
        return message
