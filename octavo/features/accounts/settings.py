"""The settings of accounts: sessions, attempts to sign in, the operator and the portal."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from octavo.settings import KernelSettings
from octavo.settings.addresses import web_address
from octavo.settings.names import variable
from octavo.settings.values import Days, Positive, Wait, digests, reads

_PAGE = re.compile(r"[a-z][a-z0-9-]{0,49}")


@dataclass(frozen=True, slots=True)
class NamedAddress:
    """An address that clients ask for by its name."""

    name: str
    address: str

    def __str__(self) -> str:
        return f"{self.name}={self.address}"


def portal_addresses(text: str) -> tuple[NamedAddress, ...]:
    """Read ``name=address`` once or more, separated by commas.

    The query of an address must not have a parameter ``token``, which is added to it.
    """
    pages: dict[str, NamedAddress] = {}
    for part in text.split(","):
        name, equals, address = part.strip().partition("=")
        if not equals or not _PAGE.fullmatch(name) or name in pages:
            raise ValueError(
                "is not a list of pages: give a different name of small letters, digits and "
                "hyphens for each, and its address, such as billing=https://billing.example.org"
            )
        web_address(address)
        if any(
            key == "token" for key, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True)
        ):
            raise ValueError("has a parameter token, which Octavo adds: leave it out")
        pages[name] = NamedAddress(name, address)
    return tuple(pages.values())


class AccountSettings(KernelSettings):
    """How people sign in, and what the operator offers them."""

    session_idle_days: Days = Field(
        default=30.0, description="days of inactivity after which a session expires"
    )
    session_absolute_days: Days = Field(
        default=90.0, description="days after which a session expires regardless of activity"
    )
    sign_in_attempts_per_address: Positive = Field(
        default=10, description="sign-in attempts for one account within sign_in_attempts_time"
    )
    sign_in_attempts_per_client: Positive = Field(
        default=60, description="sign-in attempts from one client within sign_in_attempts_time"
    )
    registration_attempts_per_client: Positive = Field(
        default=30, description="registrations from one client within sign_in_attempts_time"
    )
    sign_in_attempts_time: Wait = Field(
        default=300.0,
        description="seconds over which attempts to sign in and to register are counted",
    )
    known_device_queue: Positive = Field(
        default=16,
        description="sign-ins of browsers that have signed in before, which may wait for their "
        "turn beyond those of others; of each account, 2 at most",
    )
    operator_tokens: Annotated[tuple[str, ...], reads(digests)] = Field(
        default=(),
        description="SHA-256 digests of operator tokens, separated by commas; `octavo "
        "operator-token` makes them. Without any, the operator API is off",
        json_schema_extra={"secret": True},
    )
    portal: Annotated[tuple[NamedAddress, ...], reads(portal_addresses)] = Field(
        default=(),
        description="pages of the operator's account portal, as name=address separated by commas, "
        "such as billing=https://billing.example.org/start",
    )

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between the settings, a line each."""
        yield from super().contradictions()
        if self.session_idle_days > self.session_absolute_days:
            yield (
                f"a session can't be idle for more days ({self.session_idle_days:g}) than it lasts "
                f"({self.session_absolute_days:g}): lower "
                f"{variable('session_idle_days')} or raise {variable('session_absolute_days')}"
            )
