"""Every setting: its name, default, description and validation."""

from pathlib import Path
from typing import Annotated, Self, get_args

from pydantic import Field, PlainSerializer, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from octavo.settings.addresses import (
    SMTP_PORTS,
    Bind,
    DatabaseUrl,
    NamedAddress,
    Sender,
    SmtpSecurity,
    host_name,
    legal_document,
    local_origin,
    object_store_address,
    origin,
    portal_addresses,
    remote_port,
)
from octavo.settings.contradictions import contradictions
from octavo.settings.values import (
    Network,
    amount,
    choice,
    count,
    days,
    digests,
    file,
    folder,
    line,
    networks,
    reads,
    seconds,
    switch,
    wait,
)

_Seconds = Annotated[float, reads(seconds)]
_Wait = Annotated[float, reads(wait)]
_Days = Annotated[float, reads(days)]
_File = Annotated[str, reads(file)]
_Database = Annotated[DatabaseUrl, PlainSerializer(str)]
_Positive = Annotated[int, reads(count(1))]
_Port = Annotated[int, reads(remote_port)]
_Amount = Annotated[int | None, reads(amount)]
_LegalDocument = Annotated[str, reads(legal_document)]
_Line = Annotated[str, reads(line)]


class Settings(BaseSettings):
    """The validated settings of one process.

    The constructor uses its arguments only; `octavo.settings.read_settings` reads every source.
    Raises pydantic's `ValidationError` for invalid values.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", validate_default=False, hide_input_in_errors=True
    )

    bind: Annotated[Bind, reads(Bind.parse)] = Field(
        default=Bind(),
        description="address and TCP port to listen on; port 0 takes any free one",
    )
    data_dir: Annotated[Path, reads(folder)] = Field(
        default=Path("octavo-data"),
        description="folder for all data; created if it is missing",
    )
    database: Annotated[_Database | None, reads(DatabaseUrl.parse)] = Field(
        default=None,
        description="postgresql:// URL of the database, SQLite in the data folder if it is not "
        "set; the option takes no password",
        json_schema_extra={"secret": True},
    )
    object_store: Annotated[str, reads(object_store_address)] = Field(
        default="",
        description="object store for images: s3://, az:// or gs://, then bucket and prefix; "
        "without it, they are stored in the data folder",
        json_schema_extra={"secret": True},
    )
    pool_size: _Positive = Field(
        default=10, description="maximum number of open connections to PostgreSQL"
    )
    shutdown_timeout: _Seconds = Field(
        default=10.0, description="seconds that a shutdown may take before requests are cut off"
    )
    drain_timeout: _Seconds = Field(
        default=0.0,
        description="seconds of the shutdown timeout in which new requests are still accepted "
        "while readiness already returns 503, so that a load balancer can stop sending them",
    )
    tls_certificate: _File = Field(
        default="",
        description="PEM file of the certificate and its chain; with tls_key, it enables TLS",
    )
    tls_key: _File = Field(default="", description="PEM file of the certificate's private key")
    public_url: Annotated[str, reads(origin)] = Field(
        default_factory=lambda known: local_origin(
            known.get("bind", Bind()), tls=bool(known.get("tls_certificate"))
        ),
        description="origin at which users reach the service: scheme, host, and port if not the "
        "default; if unset, it is derived from bind, with localhost for a loopback or wildcard "
        "address",
    )
    trusted_proxies: Annotated[tuple[Network, ...], reads(networks)] = Field(
        default=(),
        description="addresses or networks of proxies trusted to report client addresses",
    )
    proxy_header: Annotated[str, reads(choice("x-forwarded", "forwarded"))] = Field(
        default="x-forwarded",
        description="headers in which those proxies report the client: x-forwarded "
        "(x-forwarded-for and -proto) or forwarded (RFC 7239)",
    )
    log_format: Annotated[str, reads(choice("console", "json"))] = Field(
        default="console", description="format of the log on standard error: console or json"
    )
    session_idle_days: _Days = Field(
        default=30.0, description="days of inactivity after which a session expires"
    )
    session_absolute_days: _Days = Field(
        default=90.0, description="days after which a session expires regardless of activity"
    )
    audit_days: _Days = Field(
        default=365.0, description="days after which entries of the audit are deleted"
    )
    history_all_days: _Days = Field(
        default=30.0, description="days for which every revision of a file is kept"
    )
    history_hourly_days: _Days = Field(
        default=90.0,
        description="days for which the last revision of each hour is kept; of older revisions, "
        "the last of each day is kept",
    )
    history_min_revisions: _Positive = Field(
        default=20, description="number of newest revisions of a file that are kept at any age"
    )
    remove_image_metadata: Annotated[bool, reads(switch)] = Field(
        default=False,
        description="true removes what identifies people and places from uploaded and imported "
        "images: position, names, times, camera; pixels, orientation and colours stay as they are. "
        "Images of published links never contain these",
    )
    archive_jobs: _Positive = Field(
        default=2,
        description="maximum number of imports and exports that run at the same time in the "
        "installation; an account can run one",
    )
    download_bytes_per_month: _Amount = Field(
        default=None,
        description="bytes of content that all accounts together may read in a month (UTC); more "
        "is refused until the next month. If unset, there is no limit",
    )
    download_objects_per_month: _Amount = Field(
        default=None,
        description="files, revisions and images that all accounts together may read in a month "
        "(UTC). If unset, there is no limit",
    )
    write_objects_per_month: _Amount = Field(
        default=None,
        description="images, thumbnails and parts of imports that may be written to the blob store "
        "in a month (UTC). If unset, there is no limit",
    )
    published_links: _Positive = Field(
        default=200, description="maximum number of live published links of a workspace"
    )
    rendered_notes_size: Annotated[int, reads(count(1_048_576))] = Field(
        default=268_435_456,
        description="bytes of published notes that are kept in the database as HTML, compressed",
    )
    document_size: Annotated[int, reads(count(4_194_304))] = Field(
        default=16_777_216,
        description="maximum size of a note's document with its history, in bytes",
    )
    document_update_size: Annotated[int, reads(count(1024))] = Field(
        default=2_097_152, description="maximum size of one update of a note's document, in bytes"
    )
    document_history: Annotated[int, reads(count(2))] = Field(
        default=8,
        description="maximum size of a document as a multiple of its text size. A document above "
        "64 KiB that exceeds it, or its text by more than 512 KiB, loses its history, and devices "
        "load it again",
    )
    sign_in_attempts_per_address: _Positive = Field(
        default=10, description="sign-in attempts for one account within sign_in_attempts_time"
    )
    sign_in_attempts_per_client: _Positive = Field(
        default=60, description="sign-in attempts from one client within sign_in_attempts_time"
    )
    registration_attempts_per_client: _Positive = Field(
        default=30, description="registrations from one client within sign_in_attempts_time"
    )
    sign_in_attempts_time: _Wait = Field(
        default=300.0,
        description="seconds over which attempts to sign in and to register are counted",
    )
    known_device_queue: _Positive = Field(
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
    terms: _LegalDocument = Field(
        default="",
        description="terms of the installation: a Markdown file, which is shown at /legal/terms, "
        "or an http(s) address. People must accept them",
    )
    terms_version: _Line = Field(
        default="", description="version of the terms when they are an address"
    )
    privacy_notice: _LegalDocument = Field(
        default="",
        description="privacy notice of the installation: a Markdown file, which is shown at "
        "/legal/privacy, or an http(s) address. People must accept it",
    )
    privacy_version: _Line = Field(
        default="", description="version of the privacy notice when it is an address"
    )
    registration_policy: Annotated[str, reads(choice("invitation", "open"))] = Field(
        default="",
        description="who may create an account: invitation (people who are invited) or open "
        "(everybody; requires smtp_host, terms and privacy_notice). If unset, administrators "
        "decide",
    )
    portal: Annotated[tuple[NamedAddress, ...], reads(portal_addresses)] = Field(
        default=(),
        description="pages of the operator's account portal, as name=address separated by commas, "
        "such as billing=https://billing.example.org/start",
    )
    mcp: Annotated[bool, reads(switch)] = Field(
        default=False,
        description="true opens the endpoint of the Model Context Protocol at /mcp, through which "
        "assistants read notes with the consent of their account",
    )
    mcp_write: Annotated[bool, reads(switch)] = Field(
        default=False,
        description="true offers assistants tools that change notes, for tokens with the scope "
        "notes:write; requires mcp",
    )
    mcp_access_time: Annotated[int, reads(count(60))] = Field(
        default=3_600, description="seconds for which the access token of a program is valid"
    )
    mcp_refresh_days: _Positive = Field(
        default=30, description="days without use after which a program must ask its person again"
    )
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
    smtp_port: _Port = Field(
        default_factory=lambda known: SMTP_PORTS[known.get("smtp_security", "starttls")],
        description="TCP port of the mail server; if unset, 587 with starttls, 465 with tls, and "
        "25 with none",
    )
    smtp_user: _Line = Field(
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
    mail_per_address: _Positive = Field(
        default=5, description="messages to one address within an hour; more are not sent"
    )
    header_timeout: _Wait = Field(
        default=10.0,
        description="seconds to receive the head of a request, and for a TLS handshake",
    )
    head_size: Annotated[int, reads(count(1024))] = Field(
        default=16384, description="maximum size of a request head, in bytes"
    )
    header_count: Annotated[int, reads(count(10))] = Field(
        default=100, description="maximum number of header fields of a request"
    )
    target_length: Annotated[int, reads(count(256))] = Field(
        default=8192, description="maximum length of path and query of a request, in bytes"
    )
    body_timeout: _Wait = Field(default=20.0, description="seconds that a request body may pause")
    request_timeout: _Wait = Field(
        default=60.0, description="seconds for a whole request, to the end of the response"
    )
    idle_timeout: _Wait = Field(
        default=75.0, description="seconds that a connection may be idle between requests"
    )
    write_timeout: _Wait = Field(
        default=20.0, description="seconds that a client may take to read 64 KiB of the response"
    )
    connections: _Positive = Field(default=10000, description="maximum number of open connections")
    connections_per_client: _Positive = Field(
        default=256, description="maximum number of open connections per address (per /64 of IPv6)"
    )
    requests_per_round_per_client: _Positive = Field(
        default=64,
        description="maximum number of requests, frames of WebSockets and TLS "
        "handshakes per address that begin in one round of the event loop; fewer while others are "
        "served as well and rounds are long",
    )
    requests_per_connection: _Positive = Field(
        default=10000, description="requests on one connection before it is closed"
    )
    memory: Annotated[int, reads(count(16_777_216))] = Field(
        default=167_772_160,
        description="bytes of large requests and responses (64 KiB or more) held in memory",
    )
    memory_per_client: Annotated[int, reads(count(8_388_608))] = Field(
        default=67_108_864,
        description="bytes of them held in memory for one account, or for one address (one /64 of "
        "IPv6) without an account",
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
        """Read the constructor's arguments only, not the environment or files."""
        return (init_settings,)

    @model_validator(mode="after")
    def _agree(self) -> Self:
        found = list(contradictions(self))
        if found:
            raise ValueError("\n".join(found))
        return self


PASSWORDS = frozenset(
    name for name, field in Settings.model_fields.items() if SecretStr in get_args(field.annotation)
)
"""Settings that are a password as a whole, and have no option."""
