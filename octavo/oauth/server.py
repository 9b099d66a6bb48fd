"""The authorization server as a whole."""

from typing import NamedTuple

from octavo.oauth.authorization import Authorization, Issuer
from octavo.oauth.clients import Clients
from octavo.oauth.tokens import Tokens


class AuthorizationServer(NamedTuple):
    """The use cases of the authorization server."""

    issuer: Issuer
    clients: Clients
    authorization: Authorization
    tokens: Tokens
