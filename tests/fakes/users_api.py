"""The application of the identity operations, and a browser that calls it."""

from collections.abc import Callable, Sequence

from octavo_rules.identity import AccountId

from octavo.access.workspaces import Access
from octavo.features.accounts.api.account import AccountOperations
from octavo.features.accounts.api.auth import AuthOperations, PasswordResetOperations
from octavo.features.accounts.api.authentication import AttemptLimiter, OperatorTokens, SessionOrKey
from octavo.features.accounts.api.keys import KeyOperations, SessionOperations
from octavo.features.accounts.sign_in import SignedIn
from octavo.features.administration.api.administration import (
    AdministrationOperations,
    AuditOperations,
)
from octavo.features.administration.api.installation import InstallationOperations
from octavo.features.administration.api.operator import OperatorOperations
from octavo.features.mcp.api.mcp import McpOperations
from octavo.features.members.api.invitations import InvitationOperations
from octavo.features.members.api.members import MemberOperations
from octavo.features.members.api.registrations import RegistrationOperations
from octavo.features.members.api.workspaces import WorkspaceOperations
from octavo.features.members.invitations import Invitations
from octavo.features.members.members import Members
from octavo.features.oauth.api.connections import ConnectionOperations
from octavo.features.oauth.api.oauth import OAuthOperations
from octavo.features.oauth.settings import OFF
from octavo.http.contract.application import Application
from octavo.http.contract.operation import Security
from octavo.http.contract.request_context import RequestRecord
from octavo.http.refusals import problem_of
from octavo.model.access.account import AccessLimits, Role
from octavo.service.components import counting_refusals
from tests.fakes.asgi_client import Headers, Response, ask, ask_json
from tests.fakes.identity_fixture import LIFE, PASSWORD, IdentityFixture
from tests.fakes.oauth_rig import OAuthRig

ORIGIN = "https://notes.example"
FROM_HERE = (b"origin", ORIGIN.encode())
FROM_ELSEWHERE = (b"origin", b"https://notes.example.evil")
ADDRESS = "ann@example.org"
UNUSED = {"storageBytes": 0, "downloadBytes": 0, "downloadObjects": 0, "month": "2027-01"}
"""The usage of an account that has used nothing."""
NO_LIMITS = {
    "downloadBytesPerMonth": None,
    "downloadObjectsPerMonth": None,
    "publishing": True,
}


def no_groups(api: "UsersApi") -> Sequence[object]:
    """Add no further operations."""
    return ()


class UsersApi:
    """An installation as its clients see it, with the operations of identity, and ``more``."""

    def __init__(
        self,
        identity: IdentityFixture,
        operator_digests: Sequence[str] = (),
        *,
        more: Callable[["UsersApi"], Sequence[object]] = no_groups,
        mcp: bool = True,
    ) -> None:
        self.identity = identity
        self.records: list[RequestRecord] = []
        self.oauth = OAuthRig(identity)
        now = identity.sources.now
        self.access = Access(identity.store, fresh=5)
        self.rechecked: list[AccountId] = []
        identity.after.workspace_changed.listen(self.access.forget)
        identity.after.account_changed.listen(self.rechecked.append)
        self.invitations = Invitations(
            identity.store,
            identity.attempts,
            audit=identity.audit,
            now=now,
            new_id=identity.sources.new_id,
            new_token=identity.sources.new_entropy,
        )
        self.members = Members(identity.store, audit=identity.audit, now=now)
        self.groups: list[object] = [
            AuthOperations(
                identity.signing_in,
                identity.devices,
                identity.own_password,
                life=LIFE,
                origin=ORIGIN,
                legal=identity.legal,
            ),
            PasswordResetOperations(identity.password_reset, origin=ORIGIN),
            RegistrationOperations(
                identity.registration,
                identity.devices,
                life=LIFE,
                origin=ORIGIN,
                legal=identity.legal,
            ),
            AccountOperations(
                identity.own_account,
                identity.own_password,
                identity.removal,
                identity.devices,
                identity.own_consent,
                identity.portal,
                identity.legal,
            ),
            SessionOperations(identity.own_sessions, life=LIFE),
            KeyOperations(identity.own_keys, now=now),
            AdministrationOperations(identity.administration, identity.removal),
            AuditOperations(identity.audit),
            InstallationOperations(identity.installation),
            OperatorOperations(identity.administration, identity.removal, identity.portal),
            WorkspaceOperations(
                identity.store,
                self.access,
                now=now,
                new_id=identity.sources.new_id,
                gone=self.access.forget,
                erased=lambda: None,
            ),
            MemberOperations(self.members, self.access),
            InvitationOperations(self.invitations, self.access, now=now, public_url=ORIGIN),
            *more(self),
        ]
        absent: dict[type, str] = {}
        if mcp:
            self.groups += [
                OAuthOperations(self.oauth.server, public_url=ORIGIN),
                ConnectionOperations(self.oauth.server, identity.store),
            ]
        else:
            absent = {OAuthOperations: OFF, ConnectionOperations: OFF, McpOperations: OFF}
        self.application = Application(
            self.groups,
            absent=absent,
            failure_problem=problem_of,
            new_id=lambda: "made-here",
            log_request=counting_refusals(self.records.append, identity.audit.refused),
            authenticators={
                Security.SESSION_OR_KEY: SessionOrKey(
                    identity.credentials, origin=ORIGIN, legal=identity.legal
                ),
                Security.OPERATOR: OperatorTokens(operator_digests, identity.audit.refused),
            },
            rate_limiter=AttemptLimiter(identity.attempts),
            public_url=ORIGIN,
            strict=True,
        )

    async def get(self, target: str, *headers: tuple[bytes, bytes]) -> Response:
        return await ask(self.application, "GET", target, headers=headers)

    async def delete(self, target: str, *headers: tuple[bytes, bytes]) -> Response:
        return await ask(self.application, "DELETE", target, headers=headers)

    async def post(self, target: str, document: object, *headers: tuple[bytes, bytes]) -> Response:
        return await ask_json(self.application, "POST", target, document, headers)

    async def patch(self, target: str, document: object, *headers: tuple[bytes, bytes]) -> Response:
        return await ask_json(self.application, "PATCH", target, document, headers)

    async def put(self, target: str, document: object, *headers: tuple[bytes, bytes]) -> Response:
        return await ask_json(self.application, "PUT", target, document, headers)

    async def post_nothing(self, target: str, *headers: tuple[bytes, bytes]) -> Response:
        return await ask(self.application, "POST", target, headers=headers)

    async def sign_in(
        self,
        address: str = ADDRESS,
        password: str = PASSWORD,
        headers: Headers = (FROM_HERE,),
        **more: object,
    ) -> Response:
        document = {"email": address, "password": password, **more}
        return await self.post("/api/auth/sign-in/email", document, *headers)

    async def register(
        self,
        invitation: str | None,
        address: str = ADDRESS,
        password: str = PASSWORD,
        name: str = "Ann",
        headers: Headers = (FROM_HERE,),
        **more: object,
    ) -> Response:
        document = {
            "invitation": invitation,
            "address": address,
            "password": password,
            "displayName": name,
            **more,
        }
        return await self.post("/api/registrations", document, *headers)

    async def account(
        self, address: str = ADDRESS, role: Role = "member"
    ) -> tuple[SignedIn, tuple[bytes, bytes]]:
        """An account, and the cookie of its first session."""
        made = await self.identity.account(address, role)
        return made, cookie(made.token)

    async def key(
        self, made: SignedIn, name: str = "a key", limits: AccessLimits | None = None
    ) -> tuple[bytes, bytes]:
        """A new key of the account, as it is shown."""
        _, secret = await self.identity.own_keys.create(
            made.account.account_id, name, None, limits, remote_address=None
        )
        return bearer(secret)


def cookie(token: str) -> tuple[bytes, bytes]:
    return (b"cookie", b"__Host-octavo=" + token.encode())


def bearer(secret: str) -> tuple[bytes, bytes]:
    return (b"authorization", b"Bearer " + secret.encode())


def cookie_set_by(response: Response) -> tuple[bytes, bytes]:
    """The cookie of the session that begins with ``response``."""
    return (b"cookie", response.cookies()["__Host-octavo"].partition(";")[0].encode())
