"""Requests for authorization (RFC 6749 section 4.1.1), and the grants that people give."""

import hmac
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal
from urllib.parse import urlencode

from octavo_rules.identity import READ, AccountId, ProgramNumber, Scope

from octavo.features.oauth.rules.client import OAuthClient, check_redirect_uri, uses_redirect_uri
from octavo.features.oauth.rules.refusal import (
    InvalidOAuthRequest,
    InvalidRedirectUri,
    InvalidScope,
    InvalidTarget,
)
from octavo.model.access.account import AccessLimits, ClientId, GrantId, parse_scopes

CODE_SECONDS = 60
"""Seconds for which a code is valid (RFC 6749 section 4.1.2: ten minutes at most)."""
MAX_GRANTS = 100
"""Maximum number of grants of an account; a further one ends the least recently used."""

MAX_TOKENS = 1_000
"""Access tokens, and used refresh tokens, that a grant keeps; older ones are removed.

A program that renews its tokens all the time must not fill the database.
"""

TokenKind = Literal["access", "refresh"]


@dataclass(frozen=True, slots=True)
class Grant:
    """What a person allowed a client; times are in milliseconds of Unix time.

    Attributes:
        client_name: how the client called itself then.
        expires_at: when it ends; None if it lasts until it is revoked.
        used_at: the time of its last use, to the minute; None if it was never used.
        program: what the history of notes records for the client; None for a new grant.
    """

    grant_id: GrantId
    account_id: AccountId
    client_id: ClientId
    client_name: str
    limits: AccessLimits
    created_at: int
    expires_at: int | None
    used_at: int | None = None
    program: ProgramNumber | None = None


def ends_at(now: int, seconds: int, grant: Grant) -> int:
    """Return when a token for ``seconds`` ends: no later than its grant."""
    end = now + seconds * 1000
    return end if grant.expires_at is None else min(end, grant.expires_at)


_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def check_challenge(challenge: str | None, method: str | None) -> str:
    """Return the code challenge of a request. Raises `OAuthRefusal`."""
    if challenge is None:
        raise InvalidOAuthRequest("A code_challenge is missing: PKCE is required.")
    if method != "S256":
        raise InvalidOAuthRequest("The code_challenge_method must be S256.")
    if _CHALLENGE.fullmatch(challenge) is None:
        raise InvalidOAuthRequest(
            "The code_challenge must be the base64url of a SHA-256 digest, 43 characters.",
        )
    return challenge


def challenge_of(verifier: str) -> str:
    """Return the challenge of a verifier (RFC 7636 section 4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def proves(verifier: str, challenge: str) -> bool:
    """Return whether ``verifier`` is valid, and the one that ``challenge`` was made of."""
    if _VERIFIER.fullmatch(verifier) is None:
        return False
    return hmac.compare_digest(challenge_of(verifier), challenge)


LONGEST_STATE = 4_096


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A valid request.

    Attributes:
        redirect_uri: where the response is sent to; one of the client's.
        given_redirect_uri: whether the request named it, so that the code's exchange must, too.
        scopes: the access that the client asks for.
        state: a value for the client; None without one.
        challenge: of PKCE, method S256.
    """

    client: OAuthClient
    redirect_uri: str
    given_redirect_uri: bool
    scopes: frozenset[Scope]
    state: str | None
    challenge: str

    @property
    def fingerprint(self) -> str:
        """A digest of what a person is shown of the request: who asks for what, and from where.

        Clients change their own registrations and documents at any time.
        """
        metadata = self.client.metadata
        shown = [metadata.name, metadata.home, self.redirect_uri, *sorted(self.scopes)]
        return sha256(json.dumps(shown).encode()).hexdigest()


def redirect_uri_of(client: OAuthClient, requested: str | None) -> str:
    """Return where the response to a request is sent to.

    Raises `OAuthRefusal`: nothing may be sent to an address that the client did not register (RFC
    6749 section 4.1.2.1), or that it may not register any more.
    """
    registered = client.metadata.redirect_uris
    if requested is None:
        if len(registered) != 1 or not registered[0].startswith("https:"):
            raise InvalidOAuthRequest("The request has no redirect_uri.")
        requested = registered[0]
    check_redirect_uri(requested)
    if not any(uses_redirect_uri(uri, requested) for uri in registered):
        raise InvalidRedirectUri("The redirect_uri is not one that the program registered.")
    return requested


def read_request(
    client: OAuthClient,
    parameters: Mapping[str, str],
    *,
    resource: str,
    offered: frozenset[Scope],
) -> AuthorizationRequest:
    """Return the request of ``client`` with these parameters.

    Args:
        client: the client that the request names.
        parameters: the parameters of the request, by their names.
        resource: the identifier of the MCP endpoint, the only target (RFC 8707).
        offered: the scopes that can be granted; others are left out (RFC 6749 section 3.3).

    Raises `OAuthRefusal`. The person must be shown why, and is not redirected: anybody can register
    a client, and send people with a faulty request (RFC 9700 section 4.11.2).
    """
    redirect_uri = redirect_uri_of(client, parameters.get("redirect_uri"))
    state = parameters.get("state")
    if state is not None and len(state) > LONGEST_STATE:
        raise InvalidOAuthRequest(f"The state exceeds {LONGEST_STATE} characters.")
    if parameters.get("response_type") != "code":
        raise InvalidOAuthRequest("The response_type must be code.")
    challenge = check_challenge(
        parameters.get("code_challenge"), parameters.get("code_challenge_method")
    )
    check_resource(parameters.get("resource"), resource)
    scopes = _scopes(parameters.get("scope"), offered)
    return AuthorizationRequest(
        client, redirect_uri, "redirect_uri" in parameters, scopes, state, challenge
    )


def check_resource(requested: str | None, resource: str) -> None:
    """Raise `OAuthRefusal` if another target than ``resource`` is requested.

    A client that names none can only mean this one.
    """
    if requested is not None and requested != resource:
        raise InvalidTarget(f"The only resource here is {resource}.")


def response_address(
    redirect_uri: str, parameters: Mapping[str, str], *, state: str | None, issuer: str
) -> str:
    """Return the address of a response to the client.

    It names the issuer, so that clients of several servers notice a mix-up (RFC 9207).
    """
    added = {**parameters, **({} if state is None else {"state": state}), "iss": issuer}
    separator = "" if redirect_uri.endswith(("?", "&")) else "&" if "?" in redirect_uri else "?"
    return f"{redirect_uri}{separator}{urlencode(added)}"


def _scopes(requested: str | None, offered: frozenset[Scope]) -> frozenset[Scope]:
    if not requested or not requested.split():
        return frozenset({READ})
    known = [scope for scope in requested.split() if scope in offered]
    if not known:
        raise InvalidScope(f"The scopes here are {' and '.join(sorted(offered))}.")
    return parse_scopes(known)
