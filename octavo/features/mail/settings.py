"""The settings of mail: the mail server, and the sender."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr

from octavo.model.access.account import Address, parse_address
from octavo.model.label import parse_label
from octavo.settings import KernelSettings
from octavo.settings.addresses import host_name, is_loopback, remote_port
from octavo.settings.names import variable
from octavo.settings.values import Line, Positive, choice, line, reads

SmtpSecurity = Literal["starttls", "tls", "none"]

SMTP_PORTS: dict[SmtpSecurity, int] = {"starttls": 587, "tls": 465, "none": 25}
"""The usual port for each value of ``smtp_security``."""

_LONGEST_NAME = 100
_INVALID = (
    "is not a sender: give an address such as notes@example.org, or a name and an address such as "
    "Octavo <notes@example.org>"
)


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of messages, a mailbox (RFC 5322 section 3.4).

    Attributes:
        name: the display name; may be empty. It is one line without control characters.
        address: the address.
    """

    name: str
    address: Address

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``address`` or ``name <address>``.

        Raises ValueError with a text that goes on from the value, as `octavo.settings.values` does.
        """
        name, bracket, rest = text.rpartition("<")
        try:
            if not bracket:
                return cls("", parse_address(text))
            if not rest.endswith(">"):
                raise ValueError(_INVALID)
            name = name.strip()
            if len(name) > 1 and name[0] == name[-1] == '"':
                name = name[1:-1]
            return cls(parse_label(name, _LONGEST_NAME), parse_address(rest[:-1]))
        except ValueError:
            raise ValueError(_INVALID) from None

    def __str__(self) -> str:
        return f"{self.name} <{self.address}>" if self.name else self.address


class MailSettings(KernelSettings):
    """How messages are sent."""

    smtp_host: Annotated[str, reads(host_name)] = Field(
        default="",
        description="name or IP address of the mail server that sends the messages of this "
        "installation; without it, none are sent",
    )
    smtp_security: Annotated[SmtpSecurity, reads(choice("starttls", "tls", "none"))] = Field(
        default="starttls",
        description="encryption of the connection to the mail server: starttls (required, not "
        "opportunistic), tls from the first byte, or none",
    )
    smtp_port: Annotated[int, reads(remote_port)] = Field(
        default_factory=lambda known: SMTP_PORTS[known.get("smtp_security", "starttls")],
        description="TCP port of the mail server; if unset, 587 with starttls, 465 with tls, and "
        "25 with none",
    )
    smtp_user: Line = Field(
        default="", description="name to authenticate with at the mail server, with smtp_password"
    )
    smtp_password: Annotated[SecretStr | None, reads(line)] = Field(
        default=None, description="password of smtp_user", json_schema_extra={"secret": True}
    )
    mail_from: Annotated[Sender | None, reads(Sender.parse)] = Field(
        default=None,
        description="sender of the messages: an address, or a name and an address such as "
        "Octavo <notes@example.org>; required with smtp_host",
    )
    mail_per_address: Positive = Field(
        default=5, description="messages to one address within an hour; more are not sent"
    )

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between the settings, a line each."""
        yield from super().contradictions()
        if bool(self.smtp_host) is not bool(self.mail_from):
            yield (
                "sending mail needs a mail server and a sender: "
                f"give both {variable('smtp_host')} and {variable('mail_from')}, or neither"
            )
        if bool(self.smtp_user) is not bool(self.smtp_password):
            yield (
                "authentication at the mail server needs a name and a password: "
                f"give both {variable('smtp_user')} and {variable('smtp_password')}, or neither"
            )
        elif self.smtp_user and not self.smtp_host:
            yield f"{variable('smtp_user')} has no mail server: give {variable('smtp_host')}, too"
        elif self.smtp_user and self.smtp_security == "none" and not is_loopback(self.smtp_host):
            yield (
                "the password for the mail server would be sent unencrypted: "
                f"set {variable('smtp_security')} to starttls or tls"
            )
