"""The base of the sections of settings, and the section of the kernel.

A setting is declared with its name, default, description and validation.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SecretStr, model_validator

from octavo.settings import values
from octavo.settings.addresses import Bind, DatabaseUrl, local_origin, object_store_address, origin
from octavo.settings.names import variable

_Database = Annotated[DatabaseUrl, PlainSerializer(str)]

LARGEST_UPDATE = 6_000_000
"""The largest document update, in bytes, that fits into a request of 8 MiB as base64."""


class KernelSettings(BaseModel):
    """The settings of the kernel, which the sections of features extend.

    `octavo.settings.read_settings` reads them from every source. The constructor raises pydantic's
    `ValidationError` for invalid values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    groups: ClassVar[str] = "bind"
    """The first setting of each group, in the order in which they are described."""

    bind: Annotated[Bind, values.reads(Bind.parse)] = Field(
        default=Bind(),
        description="address and TCP port to listen on; port 0 takes any free one",
    )
    data_dir: Annotated[Path, values.reads(values.folder)] = Field(
        default=Path("octavo-data"),
        description="folder for all data; created if it is missing",
    )
    database: Annotated[_Database | None, values.reads(DatabaseUrl.parse)] = Field(
        default=None,
        description="postgresql:// URL of the database, SQLite in the data folder if it is not "
        "set; the option takes no password",
        json_schema_extra={"secret": True},
    )
    object_store: Annotated[str, values.reads(object_store_address)] = Field(
        default="",
        description="object store for images: s3://, az:// or gs://, then bucket and prefix; "
        "without it, they are stored in the data folder",
        json_schema_extra={"secret": True},
    )
    pool_size: values.Positive = Field(
        default=10, description="maximum number of open connections to PostgreSQL"
    )
    shutdown_timeout: values.Seconds = Field(
        default=10.0, description="seconds that a shutdown may take before requests are cut off"
    )
    drain_timeout: values.Seconds = Field(
        default=0.0,
        description="seconds of the shutdown timeout in which new requests are still accepted "
        "while readiness already returns 503, so that a load balancer can stop sending them",
    )
    tls_certificate: values.File = Field(
        default="",
        description="PEM file of the certificate and its chain; with tls_key, it enables TLS",
    )
    tls_key: values.File = Field(
        default="", description="PEM file of the certificate's private key"
    )
    public_url: Annotated[str, values.reads(origin)] = Field(
        default_factory=lambda known: local_origin(
            known.get("bind", Bind()), tls=bool(known.get("tls_certificate"))
        ),
        description="origin at which users reach the service: scheme, host, and port if not the "
        "default; if unset, it is derived from bind, with localhost for a loopback or wildcard "
        "address",
    )
    trusted_proxies: Annotated[tuple[values.Network, ...], values.reads(values.networks)] = Field(
        default=(),
        description="addresses or networks of proxies trusted to report client addresses",
    )
    proxy_header: Annotated[str, values.reads(values.choice("x-forwarded", "forwarded"))] = Field(
        default="x-forwarded",
        description="headers in which those proxies report the client: x-forwarded "
        "(x-forwarded-for and -proto) or forwarded (RFC 7239)",
    )
    log_format: Annotated[str, values.reads(values.choice("console", "json"))] = Field(
        default="console", description="format of the log on standard error: console or json"
    )
    audit_days: values.Days = Field(
        default=365.0, description="days after which entries of the audit are deleted"
    )
    document_size: Annotated[int, values.reads(values.count(4_194_304))] = Field(
        default=16_777_216,
        description="maximum size of a note's document with its history, in bytes",
    )
    document_update_size: Annotated[int, values.reads(values.count(1024))] = Field(
        default=2_097_152, description="maximum size of one update of a note's document, in bytes"
    )
    document_history: Annotated[int, values.reads(values.count(2))] = Field(
        default=8,
        description="maximum size of a document as a multiple of its text size. A document above "
        "64 KiB that exceeds it, or its text by more than 512 KiB, loses its history, and devices "
        "load it again",
    )
    header_timeout: values.Wait = Field(
        default=10.0,
        description="seconds to receive the head of a request, and for a TLS handshake",
    )
    head_size: Annotated[int, values.reads(values.count(1024))] = Field(
        default=16384, description="maximum size of a request head, in bytes"
    )
    header_count: Annotated[int, values.reads(values.count(10))] = Field(
        default=100, description="maximum number of header fields of a request"
    )
    target_length: Annotated[int, values.reads(values.count(256))] = Field(
        default=8192, description="maximum length of path and query of a request, in bytes"
    )
    body_timeout: values.Wait = Field(
        default=20.0, description="seconds that a request body may pause"
    )
    request_timeout: values.Wait = Field(
        default=60.0, description="seconds for a whole request, to the end of the response"
    )
    idle_timeout: values.Wait = Field(
        default=75.0, description="seconds that a connection may be idle between requests"
    )
    write_timeout: values.Wait = Field(
        default=20.0, description="seconds that a client may take to read 64 KiB of the response"
    )
    connections: values.Positive = Field(
        default=10000, description="maximum number of open connections"
    )
    connections_per_client: values.Positive = Field(
        default=256, description="maximum number of open connections per address (per /64 of IPv6)"
    )
    requests_per_round_per_client: values.Positive = Field(
        default=64,
        description="maximum number of requests, frames of WebSockets and TLS "
        "handshakes per address that begin in one round of the event loop; fewer while others are "
        "served as well and rounds are long",
    )
    requests_per_connection: values.Positive = Field(
        default=10000, description="requests on one connection before it is closed"
    )
    memory: Annotated[int, values.reads(values.count(16_777_216))] = Field(
        default=167_772_160,
        description="bytes of large requests and responses (64 KiB or more) held in memory",
    )
    memory_per_client: Annotated[int, values.reads(values.count(8_388_608))] = Field(
        default=67_108_864,
        description="bytes of them held in memory for one account, or for one address (one /64 of "
        "IPv6) without an account",
    )

    @model_validator(mode="after")
    def _agree(self) -> Self:
        contradictions = list(self.contradictions())
        if contradictions:
            raise ValueError("\n".join(contradictions))
        return self

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the settings by `groups`, and in a group as they are declared."""
        groups: dict[str, list[str]] = {first: [] for first in cls.groups.split()}
        group: list[str] = []
        for name in cls.model_fields:
            group = groups.get(name, group)
            group.append(name)
        return [name for names in groups.values() for name in names]

    @classmethod
    def passwords(cls) -> frozenset[str]:
        """Return which settings are a password as a whole, and have no option."""
        fields = cls.model_fields.items()
        return frozenset(name for name, field in fields if SecretStr in get_args(field.annotation))

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between the settings, a line each."""
        if self.drain_timeout > self.shutdown_timeout:
            yield (
                f"the drain timeout ({self.drain_timeout:g} s) is part of the shutdown timeout "
                f"({self.shutdown_timeout:g} s) and can't be longer: "
                f"lower {variable('drain_timeout')} or raise {variable('shutdown_timeout')}"
            )
        if bool(self.tls_certificate) is not bool(self.tls_key):
            yield (
                "TLS needs a certificate and its key: "
                f"give both {variable('tls_certificate')} and {variable('tls_key')}, or neither"
            )
        if self.document_update_size > min(self.document_size, LARGEST_UPDATE):
            yield (
                f"an update of {self.document_update_size} bytes exceeds the request limit of"
                f" {LARGEST_UPDATE} bytes or the document limit of {self.document_size}:"
                f" lower {variable('document_update_size')}"
            )
