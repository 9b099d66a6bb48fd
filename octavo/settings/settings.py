"""Every setting: its name, its default, its meaning, and what it accepts."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from octavo.settings.addresses import Bind, DatabaseUrl, local_origin, origin
from octavo.settings.names import variable
from octavo.settings.values import (
    Network,
    choice,
    count,
    days,
    file,
    folder,
    networks,
    seconds,
    switch,
    wait,
)

T = TypeVar("T")

LARGEST_UPDATE = 6_000_000
"""Bytes of an update of a document that a request of 8 MiB holds in base64."""


def _read(parse: Callable[[str], T]) -> BeforeValidator:
    """Parse text, and numbers by their text; a value of the field's type is left as it is."""

    def check(value: object) -> object:
        parsed = isinstance(value, str | int | float) and not isinstance(value, bool)
        return parse(str(value)) if parsed else value

    return BeforeValidator(check)


_Seconds = Annotated[float, _read(seconds)]
_Wait = Annotated[float, _read(wait)]
_Days = Annotated[float, _read(days)]
_File = Annotated[str, _read(file)]
_Database = Annotated[DatabaseUrl, PlainSerializer(str)]
_Positive = Annotated[int, _read(count(1))]


class Settings(BaseSettings):
    """The settings of one process, checked and complete.

    Making one reads nothing: `octavo.settings.read_settings` does, from every source. Raises
    pydantic's `ValidationError` for what can't be used.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", validate_default=False, hide_input_in_errors=True
    )

    bind: Annotated[Bind, _read(Bind.parse)] = Field(
        default=Bind(),
        description="address and TCP port to listen on; port 0 takes any free one",
    )
    data_dir: Annotated[Path, _read(folder)] = Field(
        default=Path("octavo-data"),
        description="folder of everything that is kept; made when it is missing",
    )
    database: Annotated[_Database | None, _read(DatabaseUrl.parse)] = Field(
        default=None,
        description="postgresql:// address of the database; without one SQLite keeps it in the "
        "data folder",
        json_schema_extra={"secret": True},
    )
    pool_size: _Positive = Field(
        default=10, description="connections to PostgreSQL that are kept open at most"
    )
    grace: _Seconds = Field(
        default=10.0, description="seconds that a stop may take before what is left is cut off"
    )
    drain: _Seconds = Field(
        default=0.0,
        description="seconds of the grace in which new requests are still taken while readiness "
        "already answers 503, so that a load balancer can turn away first",
    )
    tls_certificate: _File = Field(
        default="",
        description="file (PEM) of the certificate with its chain; with its key it turns TLS on",
    )
    tls_key: _File = Field(default="", description="file (PEM) of the certificate's private key")
    public_url: Annotated[str, _read(origin)] = Field(
        default_factory=lambda known: local_origin(
            known.get("bind", Bind()), tls=bool(known.get("tls_certificate"))
        ),
        description="origin that people reach it at: scheme, host, and port if not the usual one; "
        "without one that of bind, or localhost",
    )
    http2: Annotated[bool, _read(switch)] = Field(
        default=False,
        description="true serves HTTP/2 besides HTTP/1.1; one client can slow down all others by "
        "it, so turn it on for clients that you trust",
    )
    trusted_proxies: Annotated[tuple[Network, ...], _read(networks)] = Field(
        default=(),
        description="addresses or networks of the proxies whose word on their clients counts",
    )
    proxy_header: Annotated[str, _read(choice("x-forwarded", "forwarded"))] = Field(
        default="x-forwarded",
        description="the headers by which those proxies tell: x-forwarded (x-forwarded-for and "
        "-proto) or forwarded (RFC 7239)",
    )
    log_format: Annotated[str, _read(choice("console", "json"))] = Field(
        default="console", description="form of the log on standard error: console or json"
    )
    session_idle_days: _Days = Field(
        default=30.0, description="days without use after which a session ends"
    )
    session_absolute_days: _Days = Field(
        default=90.0, description="days after which a session ends in any case"
    )
    history_all_days: _Days = Field(
        default=30.0, description="days in which every revision of a file is kept"
    )
    history_hourly_days: _Days = Field(
        default=90.0,
        description="days in which the last revision of each hour is kept; of older ones the last "
        "of each day",
    )
    history_least: _Positive = Field(
        default=20, description="newest revisions of a file that are kept whatever their age"
    )
    document_size: Annotated[int, _read(count(4_194_304))] = Field(
        default=16_777_216, description="bytes of a note's document, with its history"
    )
    document_update_size: Annotated[int, _read(count(1024))] = Field(
        default=2_097_152, description="bytes of one update of a note's document"
    )
    document_history: Annotated[int, _read(count(2))] = Field(
        default=8,
        description="how many times the bytes of its text a document of more than 64 KiB may have, "
        "but at most 512 KiB more than its text; then its history is shed, and devices read it "
        "anew",
    )
    sign_in_attempts_per_address: _Positive = Field(
        default=10, description="attempts to sign in to one account within the time of attempts"
    )
    sign_in_attempts_per_client: _Positive = Field(
        default=60, description="attempts to sign in from one client within the time of attempts"
    )
    sign_in_attempts_time: _Wait = Field(
        default=300.0, description="seconds in which those attempts are counted"
    )
    head_time: _Wait = Field(
        default=10.0, description="seconds for the head of a request, and for a TLS handshake"
    )
    head_size: Annotated[int, _read(count(1024))] = Field(
        default=16384, description="bytes of a request's head"
    )
    header_count: Annotated[int, _read(count(10))] = Field(
        default=100, description="header fields of a request"
    )
    target_length: Annotated[int, _read(count(256))] = Field(
        default=8192, description="bytes of path and query of a request"
    )
    body_idle_time: _Wait = Field(
        default=20.0, description="seconds that a request's body may pause"
    )
    request_time: _Wait = Field(
        default=60.0, description="seconds for a whole request, to the end of its answer"
    )
    idle_time: _Wait = Field(
        default=75.0, description="seconds between two requests of a connection"
    )
    write_time: _Wait = Field(
        default=20.0, description="seconds that a client may take to read 64 KiB of its answer"
    )
    connections: _Positive = Field(default=10000, description="connections open at once")
    connections_per_client: _Positive = Field(
        default=256, description="connections open at once from one address (one /64 of IPv6)"
    )
    requests_per_connection: _Positive = Field(
        default=10000, description="requests on one connection before it closes"
    )
    memory: Annotated[int, _read(count(16_777_216))] = Field(
        default=268_435_456,
        description="bytes of large requests and answers (64 KiB or more) that are kept at once",
    )
    memory_per_client: Annotated[int, _read(count(8_388_608))] = Field(
        default=67_108_864,
        description="bytes of them that are kept at once for one address (one /64 of IPv6)",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take the arguments alone, so that settings made in code hang on nothing else."""
        return (init_settings,)

    @model_validator(mode="after")
    def _agree(self) -> Self:
        contradictions = list(self._contradictions())
        if contradictions:
            raise ValueError("\n".join(contradictions))
        return self

    def _contradictions(self) -> Iterator[str]:
        if self.drain > self.grace:
            yield (
                f"the drain time ({self.drain:g} s) is part of the grace time "
                f"({self.grace:g} s) and can't be longer: "
                f"lower {variable('drain')} or raise {variable('grace')}"
            )
        if bool(self.tls_certificate) is not bool(self.tls_key):
            yield (
                "TLS takes a certificate and its key: "
                f"give both {variable('tls_certificate')} and {variable('tls_key')}, or neither"
            )
        if self.history_all_days > self.history_hourly_days:
            yield (
                f"every revision is kept for {self.history_all_days:g} days, and those of each hour"
                f" for {self.history_hourly_days:g} days only: lower"
                f" {variable('history_all_days')} or raise {variable('history_hourly_days')}"
            )
        if self.document_update_size > min(self.document_size, LARGEST_UPDATE):
            yield (
                f"an update of {self.document_update_size} bytes does not fit into a request, which"
                f" takes {LARGEST_UPDATE}, or into a document of {self.document_size}:"
                f" lower {variable('document_update_size')}"
            )
        if self.session_idle_days > self.session_absolute_days:
            yield (
                f"a session that ends after {self.session_absolute_days:g} days in any case "
                f"can't be idle for {self.session_idle_days:g}: lower "
                f"{variable('session_idle_days')} or raise {variable('session_absolute_days')}"
            )
