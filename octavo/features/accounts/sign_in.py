"""Sign in, recognize known browsers, sign out, and hand people to the operator's portal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from attrs import define
from octavo_rules.identity import AccountId

from octavo.access.attempts import Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.rules import device_token
from octavo.features.accounts.rules import portal as rules
from octavo.features.accounts.rules.device_token import KnownDevice
from octavo.features.accounts.rules.refusal import InvalidCredentials
from octavo.features.accounts.rules.session import Session, SessionLife
from octavo.features.accounts.sql import accounts, portal_tokens, sessions
from octavo.features.accounts.sql.accounts import AccountSummary
from octavo.features.accounts.sql.sessions import OpenSession
from octavo.model.access.account import Account, Address, SessionId, TooManyAttempts
from octavo.model.access.token import digest_of, is_opaque_token, opaque_token
from octavo.store import Store
from octavo.store.queries.signing_keys import only_secret


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session, its account, and its token, which is not stored.

    ``encoded`` is the password of the account, as argon2 encodes it.
    """

    account: Account
    session: Session
    token: str = field(repr=False)
    encoded: str = field(repr=False)


class SessionMaker:
    """Creates sessions, which the caller stores."""

    def __init__(self, *, now: Clock, new_id: NewId, new_entropy: NewEntropy) -> None:
        self._now = now
        self._new_id = new_id
        self._new_entropy = new_entropy

    def make(
        self, account_id: AccountId, device: str, remote_address: str | None
    ) -> tuple[Session, str]:
        """Return a new session and its token.

        ``device`` is the user agent of the browser, ``remote_address`` its address.
        """
        now = milliseconds(self._now())
        session = Session(
            SessionId(self._new_id()), account_id, device, remote_address or "", now, now
        )
        return session, opaque_token(self._new_entropy())


@define(eq=False)
class SignIn:
    """Starts and ends sessions.

    Args:
        store: the store of accounts and sessions.
        passwords: verifies passwords.
        attempts: counts the attempts for each address, on the route ``sign-in``.
        maker: creates sessions.
        audit: records sign-ins and sign-outs.
        now: the clock.
        life: the lifetime of sessions.
    """

    _store: Store
    _passwords: Passwords
    _attempts: Attempts
    _maker: SessionMaker
    _audit: Audit
    _now: Clock
    _life: SessionLife

    async def sign_in(
        self,
        address: Address,
        password: str,
        device: str,
        remote_address: str | None,
        *,
        known: KnownDevice | None = None,
    ) -> SignedIn:
        """Start a session of the account with ``address`` if ``password`` is correct.

        ``known`` is the browser if it has signed in to the address before (`KnownDevices`). Its
        attempts are counted by browser, with a limit for all known browsers of the account, and go
        before those of strangers.

        It takes the same time if no account has the address. Raises `InvalidCredentials`, also for
        a disabled account, `TooManyAttempts` and `StoreUnavailable`. If cancelled, a session whose
        token is lost may have started; it expires by inactivity.
        """
        account = None if known is None else known.account_id
        with self._passwords.place(known=account):
            if known is None:
                self._attempts.admit_account("sign-in", address)
            else:
                self._attempts.admit_device(known.device.hex(), known.account_id)
            stored = await self._store.read(accounts.password_at(address))
            encoded = None if stored is None else stored.encoded
            matches = await self._passwords.verify(password, encoded, known=account, placed=True)
        if stored is None or not matches or not stored.account.open:
            self._audit.refused.note(
                InvalidCredentials.code,
                "signInWithPassword",
                subject=None if stored is None else stored.account.account_id,
                remote_address=remote_address,
            )
            raise InvalidCredentials
        account_id = stored.account.account_id
        session, token = self._maker.make(account_id, device, remote_address)
        rehashed = await self._rehashed(password, stored.encoded)
        signed_in = await self._audit.write(
            sessions.begin(
                session,
                digest_of(token.encode()),
                verified=stored.encoded,
                rehashed=rehashed,
                alive=self._life.alive_since(session.created_at),
            ),
            self._audit.entry(
                "sign_in",
                actor=account_id,
                subject=session.session_id,
                remote_address=remote_address,
            ),
        )
        return SignedIn(signed_in, session, token, rehashed or stored.encoded)

    async def _rehashed(self, password: str, encoded: str) -> str | None:
        if not self._passwords.outdated(encoded):
            return None
        try:
            return await self._passwords.hash(password)
        except TooManyAttempts:
            # Keep the old hash until a later sign-in.
            return None

    async def session_of(self, token: bytes) -> OpenSession | None:
        """Return the session of ``token``; None if the token is not valid now.

        Raises `StoreUnavailable`.
        """
        if not is_opaque_token(token):
            return None
        open_session = await self._store.read(sessions.by_digest(digest_of(token)))
        if open_session is None or not open_session.account.open:
            return None
        alive = milliseconds(self._now()) < self._life.expires_at(open_session.session)
        return open_session if alive else None

    async def sign_out(self, token: bytes, *, remote_address: str | None) -> None:
        """End the session of ``token``, if there is one.

        ``remote_address`` is that of the browser. Raises `StoreUnavailable`. If cancelled, the
        session may have ended.
        """
        if not is_opaque_token(token):
            return
        digest = digest_of(token)
        open_session = await self._store.read(sessions.by_digest(digest))
        if open_session is None:
            return
        session = open_session.session
        entry = self._audit.entry(
            "sign_out",
            actor=session.account_id,
            subject=session.session_id,
            remote_address=remote_address,
        )
        script = sessions.end(session.account_id, session.session_id)
        await self._audit.write(script, entry, access_of=session.account_id)


class KnownDevices:
    """Issues and recognizes device tokens.

    Every method raises `StoreUnavailable`. The first call of a process may store the secret, also
    if it is cancelled; nothing else is stored.

    Args:
        store: has the accounts, and the secret that signs the tokens.
        now: the clock.
        new_entropy: returns entropy for a secret, and for a browser.
    """

    def __init__(self, store: Store, *, now: Clock, new_entropy: NewEntropy) -> None:
        self._store = store
        self._now = now
        self._new_entropy = new_entropy
        self._secret: bytes | None = None

    async def recognize(self, tokens: str, address: Address) -> KnownDevice | None:
        """Return the browser of ``tokens`` if it has signed in to ``address`` before.

        Return None if the account was disabled or removed, or has another password. The account is
        looked up only for a browser that has signed in to the address: for anybody else, the time
        does not depend on whether there is an account.
        """
        if not tokens:
            return None
        secret = await self._key()
        claim = device_token.claimed_device(tokens, address, milliseconds(self._now()), secret)
        if claim is None:
            return None
        stored = await self._store.read(accounts.password_at(address))
        if stored is None or not stored.account.open:
            return None
        owner = device_token.DeviceOwner(stored.account.account_id, address, stored.encoded)
        return (
            KnownDevice(claim.device, owner.account_id) if claim.holds_for(owner, secret) else None
        )

    async def remember(self, tokens: str, signed_in: SignedIn) -> str:
        """Return the new tokens of a browser that has signed in and sent ``tokens``.

        The browser keeps its number, also after a change of the password.
        """
        secret, now = await self._key(), milliseconds(self._now())
        account = signed_in.account
        owner = device_token.DeviceOwner(account.account_id, account.address, signed_in.encoded)
        claim = device_token.claimed_device(tokens, owner.address, now, secret)
        device = self._new_entropy()[: device_token.DEVICE_BYTES] if claim is None else claim.device
        others = device_token.without_address(tokens, owner.address, secret)
        return device_token.with_token(
            device_token.device_token(device, owner, now, secret), others
        )

    async def forget(self, tokens: str, address: Address) -> str:
        """Return those of ``tokens`` that are not for ``address``; empty for none."""
        return device_token.without_address(tokens, address, await self._key()) if tokens else ""

    async def _key(self) -> bytes:
        if self._secret is None:
            script = only_secret("device", self._new_entropy(), milliseconds(self._now()))
            self._secret = await self._store.write(script)
        return self._secret


class Portal:
    """Issues and redeems portal tokens.

    Args:
        store: the store of tokens.
        addresses: the address of each page of the portal, by its name.
        now: the clock.
        new_token: returns entropy for a token.
    """

    def __init__(
        self, store: Store, addresses: Mapping[str, str], *, now: Clock, new_token: NewEntropy
    ) -> None:
        self._store = store
        self._addresses = dict(addresses)
        self._now = now
        self._new_token = new_token

    async def open(self, account_id: AccountId, page: str) -> str:
        """Return the address of a page, with a new token for the account in its query.

        Only the digest of the token is stored. Earlier tokens of the account stay valid. Raises
        `PortalMissing`, `AccountGone` and `StoreUnavailable`. If cancelled, a token that is lost
        may have been created; it expires.
        """
        address = self._addresses.get(page)
        if address is None:
            raise rules.PortalMissing
        token = opaque_token(self._new_token())
        now = milliseconds(self._now())
        expires_at = now + milliseconds(rules.TOKEN_SECONDS)
        await self._store.write(
            portal_tokens.create(digest_of(token.encode()), account_id, now, expires_at)
        )
        return rules.with_token(address, token)

    async def redeem(self, token: str) -> AccountSummary:
        """Return the account of a token, which can't be used again.

        Of concurrent calls one succeeds. Raises `PortalTokenUnusable` and `StoreUnavailable`. If
        cancelled, the token may have been used.
        """
        secret = token.encode()
        if not is_opaque_token(secret):
            raise rules.PortalTokenUnusable
        now = milliseconds(self._now())
        return await self._store.write(portal_tokens.redeem(digest_of(secret), now))
