"""The sender of messages, and how the connection to its mail server is encrypted."""

from dataclasses import dataclass
from typing import Literal, Self

from octavo.model.access.account import Address, parse_address
from octavo.model.label import parse_label

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
