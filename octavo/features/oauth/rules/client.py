"""Clients of the authorization server, and the metadata that they declare of themselves."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeGuard
from urllib.parse import urlsplit

from octavo.features.oauth.rules.redirect_uri import check_redirect_uri, host_of
from octavo.features.oauth.rules.refusal import (
    InvalidClientMetadata,
    InvalidRedirectUri,
    OAuthRefusal,
)
from octavo.model.access.account import ClientId
from octavo.model.hidden_characters import is_visible, without_hidden

AuthMethod = Literal["none", "client_secret_basic", "client_secret_post"]

AUTH_METHODS: Final[tuple[AuthMethod, ...]] = ("none", "client_secret_basic", "client_secret_post")
GRANT_TYPES: Final = ("authorization_code", "refresh_token")

MAX_REDIRECT_URIS = 20
LONGEST_NAME = 100
"""Characters of a client's name that are shown; the rest is cut off."""
LONGEST_ADDRESS = 2_000
"""Characters of the address of a metadata document."""


@dataclass(frozen=True, slots=True)
class ClientMetadata:
    """What a client declares of itself; nothing of it is verified.

    Attributes:
        name: how it calls itself, on one line.
        redirect_uris: where codes may be sent to, at least one.
        auth_method: how it authenticates at the token endpoint.
        home: the address of a page about it; None without one.
    """

    name: str
    redirect_uris: tuple[str, ...]
    auth_method: AuthMethod
    home: str | None = None


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client that may ask people for access.

    Attributes:
        secret_digest: of the secret of a client that has one; None otherwise.
        created_at: when it was registered, in milliseconds of Unix time; 0 for a client with a
            metadata document.
    """

    client_id: ClientId
    metadata: ClientMetadata
    secret_digest: bytes | None = None
    created_at: int = 0


def read_metadata(
    document: Mapping[str, object], *, default_method: AuthMethod = "client_secret_basic"
) -> ClientMetadata:
    """Return the metadata in a registration or a document (RFC 7591 section 2).

    Unknown members are ignored. Raises `OAuthRefusal` for metadata that can't be served.
    """
    uris = document.get("redirect_uris")
    if not _is_text_list(uris) or not 0 < len(uris) <= MAX_REDIRECT_URIS:
        raise InvalidRedirectUri(f"Give 1 to {MAX_REDIRECT_URIS} addresses in redirect_uris.")
    for uri in uris:
        check_redirect_uri(uri)
    method = document.get("token_endpoint_auth_method", default_method)
    if not _is_method(method):
        raise InvalidClientMetadata(
            f"token_endpoint_auth_method must be one of {', '.join(AUTH_METHODS)}.",
        )
    _check_choice(document, "grant_types", "authorization_code")
    _check_choice(document, "response_types", "code")
    name = document.get("client_name")
    home = document.get("client_uri")
    return ClientMetadata(
        _shown_name(name) if isinstance(name, str) else host_of(uris[0]),
        tuple(dict.fromkeys(uris)),
        method,
        home if isinstance(home, str) and _is_https(home) else None,
    )


def is_document_address(client_id: str) -> bool:
    """Return whether ``client_id`` may be the address of a metadata document.

    It must be an https address with a path, without a fragment, user, query or dot segments (OAuth
    Client ID Metadata Document, section 3).
    """
    if len(client_id) > LONGEST_ADDRESS or not client_id.isascii() or not client_id.isprintable():
        return False
    try:
        parts = urlsplit(client_id)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or port == 0:
        return False
    segments = parts.path.split("/")
    if len(parts.path) < 2 or "." in segments or ".." in segments:
        return False
    return not parts.query and not {"#", "?", " ", "\\"} & set(client_id)


def read_document(client_id: ClientId, document: Mapping[str, object]) -> OAuthClient:
    """Return the client whose metadata document is at the address ``client_id``.

    Raises `OAuthRefusal` unless the document names this address, and needs no secret.
    """
    if document.get("client_id") != client_id:
        raise InvalidClientMetadata(
            "The client_id in the metadata document is not its address.",
        )
    metadata = read_metadata(document, default_method="none")
    if metadata.auth_method != "none" or "client_secret" in document:
        raise InvalidClientMetadata(
            "A client with a metadata document can't have a secret: its token_endpoint_auth_method "
            "must be none.",
        )
    return OAuthClient(client_id, metadata)


def _is_method(value: object) -> TypeGuard[AuthMethod]:
    return value in AUTH_METHODS


def _is_text_list(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _check_choice(document: Mapping[str, object], member: str, needed: str) -> None:
    given = document.get(member)
    if given is not None and not (isinstance(given, list) and needed in given):
        raise InvalidClientMetadata(f"The member {member} must contain {needed}.")


def _shown_name(name: str) -> str:
    """Return a name that can't imitate other parts of a page: one line of visible characters."""
    visible = "".join(
        each if unicodedata.category(each)[0] not in "CZ" else " "
        for each in without_hidden(unicodedata.normalize("NFC", name[: LONGEST_NAME * 4]))
    )
    shown = " ".join(visible.split())[:LONGEST_NAME]
    return shown if is_visible(shown) else "A program without a name"


def _is_https(address: str) -> bool:
    """Return whether a page can show an address: visible ASCII, with a host and no user."""
    try:
        check_redirect_uri(address)
    except OAuthRefusal:
        return False
    return urlsplit(address).scheme == "https"
