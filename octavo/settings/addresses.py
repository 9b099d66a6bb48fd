"""Parse addresses: what the service listens on, its public origin, its database and others.

Each function raises `ValueError` with a text that follows the value in a message, like those of
`octavo.settings.values`.
"""

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qsl, urlsplit

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8080

_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_OBJECT_STORE = re.compile(
    r"(?:s3|az|gs)://[a-z0-9](?:[a-z0-9._-]{1,220})[a-z0-9](?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?"
)
_LONGEST_OBJECT_STORE = 500
_USUAL_PORTS = {"http": 80, "https": 443}
_HIDDEN = "***"
_PASSWORDS = frozenset(("password", "sslpassword"))
_NO_DATABASE = (
    "is not an address of a database: give postgresql://user@host:port/name, "
    "or leave it out for SQLite in the data folder"
)


@dataclass(frozen=True, slots=True)
class Bind:
    """An address to listen on: an IP address or a name that has one, and a TCP port.

    Port 0 stands for any free one. The text of it can be read again.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``host:port``, ``[IPv6]:port``, a host alone, or a port alone."""
        if re.fullmatch(r"[0-9]+", text):
            return cls(port=_port(text))
        if text.count(":") > 1 and not text.startswith("["):
            raise ValueError(
                "is not an address: an IPv6 address takes brackets, such as [::1]:8080"
            )
        bracketed = re.fullmatch(r"\[(.*)\](?::(.*))?", text)
        host, port = bracketed.groups() if bracketed else re.split(":", f"{text}:", maxsplit=2)[:2]
        if bracketed:
            known = _ipv6(host)
        else:
            known = _host(host)
            port = port if ":" in text else None
        if known is None:
            raise ValueError(
                "is not an address: give an IP address or a host name, and a port, "
                "such as 127.0.0.1:8080, [::1]:8080 or localhost:8080"
            )
        return cls(known) if port is None else cls(known, _port(port))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """The address of a PostgreSQL database; its texts hide the password.

    Attributes:
        secret: the whole address, to connect with.
    """

    secret: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a connection URI (PostgreSQL, section 34.1.1.2)."""
        try:
            parts = urlsplit(text)
        except ValueError:
            raise ValueError(_NO_DATABASE) from None
        if parts.scheme not in ("postgresql", "postgres") or not re.fullmatch(r"[!-~]+", text):
            raise ValueError(_NO_DATABASE)
        # A password cut short at a slash or a question mark would pass for a host, and be shown.
        if "@" in f"{parts.path}{parts.query}{parts.fragment}":
            raise ValueError(
                "has an @ after its host: give the special characters of user, password and "
                "parameters percent-encoded, such as %40 for @ and %2F for /"
            )
        return cls(text)

    @property
    def has_password(self) -> bool:
        """Whether the address holds a password, of the user or of a key."""
        parts = urlsplit(self.secret)
        query = dict(parse_qsl(parts.query))
        return bool(parts.password) or not _PASSWORDS.isdisjoint(query)

    def __str__(self) -> str:
        parts = urlsplit(self.secret)
        user, at, host = parts.netloc.rpartition("@")
        name, colon, _ = user.partition(":")
        shown = f"{name}{colon}{_HIDDEN if colon else ''}{at}{host}"
        # Which parameters hold secrets is for the database library to know.
        query = f"?{_HIDDEN}" if parts.query else ""
        return f"{parts.scheme}://{shown}{parts.path}{query}"


def origin(text: str) -> str:
    """Read an origin and return it as a browser writes it (RFC 6454 section 6.2).

    The scheme is http or https; a usual port and a slash at the end are left out.
    """
    parts = re.fullmatch(
        r"(https?)://(?:\[([^\]]+)\]|([^\[\]:/?#@]+))(?::([0-9]+))?/?", text, re.IGNORECASE
    )
    if parts:
        scheme, ipv6, name = parts[1].lower(), parts[2], parts[3]
        host = _ipv6(ipv6) if ipv6 else _host(name.lower())
        if host is not None and "%" not in host:
            port = _port(parts[4]) if parts[4] else _USUAL_PORTS[scheme]
            if port == 0:
                raise ValueError("has the port 0: give the one that people reach it at")
            shown = f"[{host}]" if ":" in host else host
            return f"{scheme}://{shown}{'' if port == _USUAL_PORTS[scheme] else f':{port}'}"
    raise ValueError(
        "is not an origin: give scheme, host and, if it is not the usual one, port, "
        "such as https://notes.example.org, without a path"
    )


def local_origin(bind: Bind, *, tls: bool) -> str:
    """Return the origin that a server on ``bind`` has for a browser on its own machine."""
    scheme = "https" if tls else "http"
    host = bind.host
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        if address.is_loopback or address.is_unspecified:
            host = "localhost"
    return origin(f"{scheme}://{Bind(host, bind.port or DEFAULT_PORT)}")


def is_local(public_url: str) -> bool:
    """Return whether browsers take ``public_url`` for their own machine (W3C Secure Contexts 3.1).

    There, and with https, they keep the cookie of a session; elsewhere they drop it.
    """
    return is_loopback(urlsplit(public_url).hostname or "")


def host_name(text: str) -> str:
    """Read the host of another server: a name, an IPv4 or an IPv6 address."""
    host = _ipv6(text) or _host(text)
    if host is None:
        raise ValueError(
            "is not a host: give a name or an IP address, without scheme and port, such as "
            "mail.example.org"
        )
    return host


def remote_port(text: str) -> int:
    """Read the port of another server."""
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise ValueError("is not a port: give a whole number from 1 to 65535")
    return int(text)


def is_web_address(text: str) -> bool:
    """Return whether ``text`` is an http or https address, not a path."""
    return re.match("https?://", text, re.IGNORECASE) is not None


def web_address(text: str) -> str:
    """Read an http or https address."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        usable = bool(_host(host) or _ipv6(host)) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or not is_web_address(text) or not re.fullmatch(r"[!-~]+", text):
        raise ValueError(
            "is not an address: give a whole one, such as https://example.org/terms, with its "
            "special characters percent-encoded"
        )
    return text


def object_store_address(text: str) -> str:
    """Read the address of a bucket, with the prefix of its objects if it has one."""
    if not _OBJECT_STORE.fullmatch(text) or len(text) > _LONGEST_OBJECT_STORE:
        raise ValueError(
            "is not the address of an object store: give s3://bucket, az://container or "
            "gs://bucket, with a prefix such as /octavo if others use it too; credentials and "
            "endpoint are given in the environment"
        )
    return text.rstrip("/")


def is_loopback(host: str) -> bool:
    """Return whether ``host``, a name or an address, is this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(text: str) -> str | None:
    labels = text.split(".")
    if len(text) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    if not labels[-1].isdigit():
        return text
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        return None


def _ipv6(text: str) -> str | None:
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        return None


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65535:
        raise ValueError("has no valid port: give a whole number from 0 (any free port) to 65535")
    return int(text)
