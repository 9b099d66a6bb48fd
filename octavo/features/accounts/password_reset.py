"""Choose a new password with a token that was sent to the address of the account."""

from collections.abc import Callable, Mapping

from attrs import define

from octavo.access.attempts import Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.rules.password import RESET_SECONDS, password_fault, reset_link
from octavo.features.accounts.rules.refusal import InvalidResetToken
from octavo.features.accounts.sql import password_resets
from octavo.features.mail import sql as outbox
from octavo.features.mail.delivery import Prepare
from octavo.features.mail.rules import QueuedMail, queued, request_delay
from octavo.model.access.account import Account, AccountMissing, Address
from octavo.model.access.audit import AuditEntry
from octavo.model.access.rate import Rate
from octavo.model.access.token import digest_of, is_opaque_token, opaque_token
from octavo.store import Store


class PasswordUnsuitable(ValueError):
    """The new password is not accepted; the text says why, and never quotes it."""


def reset_messages(store: Store, public_url: str, *, now: Clock, new_token: NewEntropy) -> Prepare:
    """Return what creates the token of each message with a link to choose a new password.

    What is returned raises `StoreUnavailable`; if it is cancelled, a token that is lost may have
    been created.
    """

    async def prepare(
        mail: QueuedMail, budget: Rate
    ) -> tuple[Account, Mapping[str, object]] | None:
        token = opaque_token(new_token())
        at = now()
        account = await store.write(
            password_resets.create_for_mail(
                mail,
                digest_of(token.encode()),
                milliseconds(at + RESET_SECONDS),
                milliseconds(at),
                budget,
            )
        )
        if account is None:
            return None
        return account, {"link": reset_link(public_url, token), "minutes": int(RESET_SECONDS / 60)}

    return prepare


async def create_reset_token(
    audit: Audit, address: Address, *, now: Clock, new_token: NewEntropy
) -> tuple[Account, str | None]:
    """Return the account with ``address``, and a new token for it, which is not stored.

    It is recorded as a command, by ``audit``. The token is None for a disabled account. Raises
    `AccountMissing` and `StoreUnavailable`. If cancelled, a token that is lost may have been
    created.
    """
    token = opaque_token(new_token())
    expires_at = milliseconds(now() + RESET_SECONDS)

    def entries(account: Account | None) -> list[AuditEntry]:
        if account is None or not account.open:
            return []
        detail = {"command": "recover"}
        return [audit.entry("command", actor="system", subject=account.account_id, detail=detail)]

    account = await audit.write(
        password_resets.create_at(address, digest_of(token.encode()), expires_at), entries
    )
    if account is None:
        raise AccountMissing
    return account, token if account.open else None


@define(eq=False)
class PasswordReset:
    """Requests and performs the reset of a forgotten password.

    Locked accounts can reset their password, as they can sign in; disabled ones can't.

    Args:
        store: the store of accounts.
        passwords: hashes passwords.
        attempts: counts the requests for each address, on the route ``password-reset-request``.
        audit: records changes.
        now: the clock.
        new_id: returns an id for a message.
        random: returns numbers within [0, 1), for the delays of requested messages.
        mail_added: called when a message was added to the outbox, with the seconds after which it
            is due; must not block.
    """

    _store: Store
    _passwords: Passwords
    _attempts: Attempts
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _random: Callable[[], float]
    _mail_added: Callable[[float], None]

    async def request(self, address: Address) -> None:
        """Have a message with a token sent to ``address``, if an open account has it.

        Whether there is such an account is decided when the message is sent, so that this does the
        same, and takes the same time, for every address. The message is delayed at random
        (`request_delay`): the load of sending it does not follow the request. Raises
        `TooManyAttempts`, also for an address without an account, and `StoreUnavailable`. If
        cancelled, the message may be sent.
        """
        self._attempts.admit_account("password-reset-request", address)
        now = milliseconds(self._now())
        mail = queued(self._new_id(), "password_reset", address, now)
        delay = request_delay(self._random())
        await self._store.write(outbox.add(mail, now + milliseconds(delay)))
        self._mail_added(delay)

    async def opens(self, token: str) -> bool:
        """Return whether ``token`` is valid now. Raises `StoreUnavailable`."""
        return await self._account_of(token) is not None

    async def perform(self, token: str, new_password: str, *, remote_address: str | None) -> None:
        """Replace the password of the account that ``token`` is for.

        ``remote_address`` is the address of the browser. All tokens and sessions of the account
        end. Its API keys are revoked if its address was not proven before; otherwise they stay
        valid. One of several concurrent calls with a token succeeds. Raises `InvalidResetToken`;
        `PasswordUnsuitable`, after which the token can still be used; `TooManyAttempts` when too
        many passwords are being hashed; `StoreUnavailable`. If cancelled, the password may have
        been replaced.
        """
        # Checked before the hash, so that callers without a token can't cause its cost.
        account = await self._account_of(token)
        if account is None:
            raise InvalidResetToken
        fault = password_fault(new_password, account.address)
        if fault is not None:
            raise PasswordUnsuitable(fault)
        encoded = await self._passwords.hash(new_password)
        now = milliseconds(self._now())
        notice = queued(self._new_id(), "password_changed", account.address, now)

        def entries(revoked_keys: bool) -> list[AuditEntry]:
            detail = {"endedOtherSessions": True, "reset": True}
            if revoked_keys:
                detail["revokedKeys"] = True
            entry = self._audit.entry(
                "password_changed",
                actor=account.account_id,
                subject=account.account_id,
                remote_address=remote_address,
                detail=detail,
            )
            return [entry]

        script = password_resets.use(digest_of(token.encode()), encoded, notice, now)
        await self._audit.write(script, entries, access_of=account.account_id)
        self._mail_added(0.0)

    async def _account_of(self, token: str) -> Account | None:
        secret = token.encode(errors="replace")
        if not is_opaque_token(secret):
            return None
        now = milliseconds(self._now())
        return await self._store.read(password_resets.account_of(digest_of(secret), now))
