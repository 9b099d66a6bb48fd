"""Send mail with the settings: the delivery of the service, and a test message."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from octavo.access.entropy import jitter, new_id, now
from octavo.cli.output import Failed
from octavo.features.mail.delivery import MailDelivery
from octavo.features.mail.rules import BUDGET_SECONDS
from octavo.features.mail.settings import MailSettings
from octavo.model.access.account import Address
from octavo.model.access.rate import Rate
from octavo.store import Store

if TYPE_CHECKING:
    from octavo.features.mail.composition import Composer
    from octavo.features.mail.smtp import SmtpTransport


def mail_delivery(store: Store, settings: MailSettings) -> MailDelivery:
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
    )


def mail_transport(settings: MailSettings) -> "tuple[Composer, SmtpTransport] | None":
    """Return what composes and sends messages; None without a mail server in the settings."""
    sender, security = settings.mail_from, settings.smtp_security
    if sender is None:
        return None
    # They take a tenth of a second, which a server without mail does not need.
    from octavo.features.mail.composition import Composer  # noqa: PLC0415
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


async def send_test_message(settings: MailSettings, recipient: Address) -> None:
    """Send a test message with the ``settings``, without the outbox. Raises `Failed`."""
    transport = mail_transport(settings)
    if transport is None:
        raise Failed("no mail server is configured: set OCTAVO_SMTP_HOST and OCTAVO_MAIL_FROM")
    composer, smtp = transport
    message = composer.test(recipient, mail_id=new_id(), now=now())
    failure = await smtp.send(message, recipient)
    if failure is not None:
        server = f"{settings.smtp_host}:{settings.smtp_port}"
        raise Failed(f"{server}: {failure.detail}: {_REMEDIES[failure.stage]}")


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
