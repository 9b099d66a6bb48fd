"""Compose mail from templates and send it: the delivery of the service, and a test message."""

from datetime import UTC, datetime
from email.headerregistry import Address as HeaderAddress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from octavo.access.entropy import jitter, new_entropy, new_id, now
from octavo.features.accounts.rules.password import RESET_SECONDS, reset_link
from octavo.features.mail.delivery import MailDelivery
from octavo.features.mail.rules import BUDGET_SECONDS
from octavo.model.access.account import Account, Address, parse_address
from octavo.model.access.rate import Rate
from octavo.settings import Settings
from octavo.settings.addresses import Sender
from octavo.store import Store
from octavo.templates import folder_of

# Every server relays lines of ASCII.
_POLICY = SMTP.clone(cte_type="7bit")


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

    def password_reset(
        self, account: Account, token: str, *, mail_id: str, now: float
    ) -> EmailMessage:
        """Return the message with the link to choose a new password."""
        return self._compose(
            "password_reset",
            f"Choose a new password for {self._host}",
            account.address,
            mail_id,
            now,
            link=reset_link(self._public_url, token),
            minutes=int(RESET_SECONDS / 60),
        )

    def password_changed(self, account: Account, *, mail_id: str, now: float) -> EmailMessage:
        """Return the notice that the password was changed."""
        return self._compose(
            "password_changed",
            f"Your password for {self._host} was changed",
            account.address,
            mail_id,
            now,
        )

    def link_reported(self, account: Account, *, mail_id: str, now: float) -> EmailMessage:
        """Return the notice for an administrator that a published link was reported."""
        return self._compose(
            "link_reported",
            f"A published link at {self._host} was reported",
            account.address,
            mail_id,
            now,
        )

    def link_taken_down(self, account: Account, *, mail_id: str, now: float) -> EmailMessage:
        """Return the notice for an owner that a link of a workspace was taken down."""
        return self._compose(
            "link_taken_down",
            f"A published link of yours at {self._host} was taken down",
            account.address,
            mail_id,
            now,
        )

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


if TYPE_CHECKING:
    from octavo.features.mail.sending import Composer
    from octavo.features.mail.smtp import SmtpTransport


class MailNotSent(Exception):
    """The test message was not sent; the text says what failed and what to do."""


class UnusableAddress(ValueError):
    """The address that was given to a command is invalid; the text says why."""


def mail_delivery(store: Store, settings: Settings) -> MailDelivery:
    """Return the delivery of the messages in ``store``; without a mail server, it drops them."""
    transport = mail_transport(settings)
    composer, smtp = (None, None) if transport is None else transport
    return MailDelivery(
        store,
        composer,
        smtp,
        budget=Rate(settings.mail_per_address, BUDGET_SECONDS),
        now=now,
        random=jitter,
        new_token=new_entropy,
    )


def mail_transport(settings: Settings) -> "tuple[Composer, SmtpTransport] | None":
    """Return what composes and sends messages; None without a mail server in the settings."""
    sender, security = settings.mail_from, settings.smtp_security
    if sender is None:
        return None
    # They take a tenth of a second, which a server without mail does not need.
    from octavo.features.mail.sending import Composer  # noqa: PLC0415
    from octavo.features.mail.smtp import SmtpTransport  # noqa: PLC0415

    password = settings.smtp_password
    transport = SmtpTransport(
        settings.smtp_host,
        settings.smtp_port,
        security=security,
        sender=sender.address,
        client_host=_client_host(settings.public_url),
        user=settings.smtp_user,
        password="" if password is None else password.get_secret_value(),
    )
    return Composer(sender, settings.public_url), transport


def _client_host(public_url: str) -> str:
    host = urlsplit(public_url).hostname or "localhost"
    # An address literal (RFC 5321 section 4.1.3).
    if ":" in host:
        return f"[IPv6:{host}]"
    return f"[{host}]" if host.rpartition(".")[2].isdigit() else host


async def send_test_message(settings: Settings, address: str) -> None:
    """Send a test message to ``address`` with the ``settings``, without the outbox.

    Raises `UnusableAddress`, and `MailNotSent`.
    """
    recipient = usable_address(address)
    transport = mail_transport(settings)
    if transport is None:
        raise MailNotSent("no mail server is configured: set OCTAVO_SMTP_HOST and OCTAVO_MAIL_FROM")
    composer, smtp = transport
    message = composer.test(recipient, mail_id=new_id(), now=now())
    failure = await smtp.send(message, recipient)
    if failure is not None:
        server = f"{settings.smtp_host}:{settings.smtp_port}"
        raise MailNotSent(f"{server}: {failure.detail}: {_REMEDIES[failure.stage]}")


_REMEDIES = {
    "connection": "check OCTAVO_SMTP_HOST, OCTAVO_SMTP_PORT and OCTAVO_SMTP_SECURITY, and that a "
    "firewall permits the connection",
    "certificate": "the certificate of the mail server is not valid for OCTAVO_SMTP_HOST: give the "
    "name that it was issued for, or install its authority on this machine",
    "encryption": "set OCTAVO_SMTP_SECURITY to tls if the port expects TLS from the first byte, "
    "to starttls if it does not, or to none if the server offers no encryption",
    "authentication": "check OCTAVO_SMTP_USER and OCTAVO_SMTP_PASSWORD",
    "sender": "the mail server does not send for OCTAVO_MAIL_FROM: give an address that it accepts"
    ", and OCTAVO_SMTP_USER if it requires authentication",
    "recipient": "check the address, and that the mail server relays messages to it",
    "content": "the mail server did not accept the message: its log says why",
}


def usable_address(address: str) -> Address:
    """Return the address that a command was given. Raises `UnusableAddress`."""
    try:
        return parse_address(address)
    except ValueError as error:
        sentence = str(error)
        raise UnusableAddress(f"{sentence[0].lower()}{sentence[1:].removesuffix('.')}") from None
