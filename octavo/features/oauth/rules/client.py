"""Clients of the authorization server: the metadata that they declare, and their redirect URIs."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Literal, TypeGuard
from urllib.parse import SplitResult, urlsplit

from octavo.features.oauth.rules.refusal import (
    InvalidClientMetadata,
    InvalidRedirectUri,
    OAuthRefusal,
)
from octavo.model.access.account import ClientId
from octavo.model.label import is_visible, without_hidden

LONGEST = 2_000
"""Characters of a redirect URI."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")
_BRACKETS = re.compile(r"\[[^\[\]]*\](?::[0-9]*)?")
_VISIBLE = re.compile(r"[!-~]+")
# None of these leads to an application that registers itself here. Windows reserves names, Chromium
# and Firefox list those that they never pass on, HTML those that any web page may handle; Apple,
# Android, GNOME and KDE document what their own programs handle.
_HANDLED_ELSEWHERE = re.compile(
    r"""
    # Drives of Windows
      [a-z]
    # Browsers: their own pages, content in the address, and addresses for another browser
    | about | blob | cid | data | devtools | file | filesystem | isolated-app | jar | javascript
    | jscript | livescript | mhtml | mid | mocha | resource | vbscript | view-source | ws | wss
    | wyciwyg | (?:chrome|edge|moz|ms-browser|opera|safari)(?:-.*)? | brave | vivaldi
    | firefox(?:-.*)? | googlechromes? | microsoft-edge(?:-.*)? | x-safari-.* | (?:web|ext)\+.*
    # Windows
    | ms-.* | microsoft\..* | explorer\..* | search(?:-ms)? | shell | knownfolder | local | res
    | mk | its | hcp | help | disks? | ie\.http | iehistory | ierss | vnd\.ms\.radio | mso-.*
    | office | onenote(?:-cmd)? | outlook(?:cal|mail) | odopen | callto | dtmf
    | bing(?:maps|news|weather)? | zune | xbls? | xbox.* | stickynotes | usertileprovider
    | windows(?:-.*|\..*|defender|mediacenter.*)? | mswindows.* | microsoft(?:music|video)
    | skype.* | com\.microsoft\.(?:3dviewer|builder3d) | feedback-hub | insiderhub | rdp | jnlps?
    | conf | stssync | application\..* | msi\..* | internetshortcut
    # macOS and iOS
    | com\.apple\..* | launchctl
    | itms.* | itunes.* | macappstores? | x-apple.* | apple(?:-.*|news|notes|script)? | eppc
    | x-man-page | x-help-.* | x-web-search | x-dictionary | dict | app-prefs | app-settings
    | prefs | diagnostics | facetime.* | telprompt | imessage | ichat | message | addressbook
    | ical | calshow | maps? | music | musics | podcasts? | pcast | videos | i?books
    | photos(?:-.*)? | shoebox | wallet | shortcuts | workflow | shareddocuments
    | mobile(?:notes|phone) | findmy.* | fmip1 | fmf1 | rdar | tap-to-radar | daap
    # Android
    | com\.(?:google\.)?android\..*
    | intent | android.* | content | market | package | voicemail | mms | mmsto | google\..*
    # Linux desktops
    | admin | apt | appstream | archive | burn | cdda | computer | flatpak.* | ghelp | gnome.*
    | gphoto2 | info | kde.* | man | mtp | network | obex.* | programs | recent.* | settings
    | snap | systemsettings | tags | tar | trash | zip
    # Protocols, calls and messages, which have a program on every system, and those of HTML
    | mailto | mapi | s?news | nntp | imap | pop3? | smtp | tel | sms | smsto | sips? | h323 | im
    | ircs? | xmpp | matrix | geo | webcals? | feeds? | urn | tag | magnet | ed2k | bitcoin
    | wtai | wifi | openpgp4fpr | dat | dweb | did | ipfs | ipns | ssb | ethereum | hyper | cabal
    | ftps? | sftp | scp | fish | tftp | rsync | ssh | telnet | tn3270 | rlogin | vnc | gopher
    | wais | finger | ldaps? | smb | cifs | afp.* | afc | nfs | at | davs?(?:\+sd)? | webdavs?
    | otpauth(?:-.*)? | upi | tez | lightning | ie | x-scheme-handler
    | dns-sd | ipps? | rtsp[su]? | rtmp.* | git(?:\+.*)? | svn(?:\+.*)?
    """,
    re.VERBOSE,
)


def check_redirect_uri(uri: str) -> None:
    """Raise `OAuthRefusal` unless a client may register ``uri``.

    Allowed are https addresses, http addresses of the loopback interface (RFC 8252 section 7.3),
    and private-use schemes of applications (RFC 8252 section 7.1), all without a fragment (RFC 6749
    section 3.1.2). A scheme that a browser or an operating system handles itself is none of these.
    """
    fault = _fault(uri)
    if fault is not None:
        raise InvalidRedirectUri(f"The redirect URI {fault}.")


def _fault(uri: str) -> str | None:
    if not 0 < len(uri) <= LONGEST:
        return f"must have 1 to {LONGEST} characters"
    if _VISIBLE.fullmatch(uri) is None or "\\" in uri:
        return "must contain only visible ASCII characters, and no backslash"
    parts = _split(uri)
    if parts is None or _SCHEME.fullmatch(parts.scheme) is None:
        return "must be an absolute URI"
    if "#" in uri:
        return "must not have a fragment"
    if _HANDLED_ELSEWHERE.fullmatch(parts.scheme):
        return "must not have a scheme that browsers or operating systems handle themselves"
    if parts.scheme in ("https", "http"):
        # The standard library finds an address in brackets anywhere in the authority.
        misplaced = "[" in parts.netloc and _BRACKETS.fullmatch(parts.netloc) is None
        if not parts.hostname or "@" in parts.netloc or misplaced or not _is_host(parts.hostname):
            return "must name a host, and no user"
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            return "must use https, except for the loopback interface (127.0.0.1, [::1], localhost)"
    return None


def uses_redirect_uri(registered: str, requested: str) -> bool:
    """Return whether the ``requested`` URI is the one that the client ``registered``.

    They are compared as strings (RFC 6749 section 3.1.2.3); only the port of the loopback interface
    may differ (RFC 8252 section 7.3). A URI that may not be registered is not one, even if an
    earlier version has allowed it.
    """
    if _fault(requested) is not None:
        return False
    if requested == registered:
        return True
    ours, theirs = _split(registered), _split(requested)
    if ours is None or theirs is None or (ours.scheme, theirs.scheme) != ("http", "http"):
        return False
    # An http address without a fault is one of the loopback interface.
    return _without_port(ours) == _without_port(theirs)


def form_action_of(uri: str) -> str:
    """Return the source of a Content Security Policy that lets a form be redirected to ``uri``.

    Browsers apply ``form-action`` to redirects, too.
    """
    parts = urlsplit(uri)
    if parts.scheme in ("https", "http") and ":" not in (parts.hostname or ":"):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}:"


def host_of(uri: str) -> str:
    """Return the part of ``uri`` that shows a person its target: the host, or the scheme."""
    parts = urlsplit(uri)
    if parts.scheme in ("https", "http"):
        return parts.netloc
    return f"{parts.scheme}:"


def leads_to_this_device(uri: str) -> bool:
    """Return whether ``uri`` leads to a program on the device of the browser."""
    return urlsplit(uri).scheme != "https"


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        # Raises ValueError for a port that is none.
        parts.port  # noqa: B018
    except ValueError:
        return None
    return parts


def _without_port(parts: SplitResult) -> tuple[str | None, str, str, bool]:
    return parts.hostname, parts.path, parts.query, "@" in parts.netloc


def _is_host(host: str) -> bool:
    if _HOST.fullmatch(host):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


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
    return not {"#", "?", " ", "\\"} & set(client_id)


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
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _check_choice(document: Mapping[str, object], member: str, needed: str) -> None:
    choices = document.get(member)
    if choices is not None and not (isinstance(choices, list) and needed in choices):
        raise InvalidClientMetadata(f"The member {member} must contain {needed}.")


def _shown_name(name: str) -> str:
    """Return a name that can't imitate other parts of a page: one line of visible characters."""
    visible = "".join(
        character if unicodedata.category(character)[0] not in "CZ" else " "
        for character in without_hidden(unicodedata.normalize("NFC", name[: LONGEST_NAME * 4]))
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
