"""The parts of the service that serve accounts, sessions, keys and passwords."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.access.entropy import elapsed, jitter, new_entropy, new_id, now
from octavo.actors.jobs.housekeeping import removal
from octavo.features.accounts.api.account import AccountOperations
from octavo.features.accounts.api.auth import AuthOperations, PasswordResetOperations
from octavo.features.accounts.api.authentication import OperatorTokens, SessionOrKey
from octavo.features.accounts.api.keys import KeyOperations, SessionOperations
from octavo.features.accounts.credentials import CACHE_SECONDS, Activity, Credentials
from octavo.features.accounts.own_account import OwnAccount, OwnConsent, OwnPassword
from octavo.features.accounts.own_credentials import OwnKeys, OwnSessions
from octavo.features.accounts.password_reset import PasswordReset, reset_messages
from octavo.features.accounts.passwords import Passwords, hash_workers
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.accounts.rules.session import DAY, SessionLife
from octavo.features.accounts.settings import AccountSettings
from octavo.features.accounts.sign_in import KnownDevices, Portal, SessionMaker, SignIn
from octavo.features.accounts.sql import password_resets, portal_tokens
from octavo.features.accounts.sql.sessions import expire_sessions
from octavo.http import contract
from octavo.http.pages.menus import MenuEntry, signed_in, signed_out, where_provided
from octavo.kernel import Feature, Kernel, Parts, worker

if TYPE_CHECKING:
    from octavo.features.legal.feature import Legal
    from octavo.features.mail.feature import Mail
    from octavo.features.usage.feature import Usage
    from octavo.http.pages.page_registry import PageRegistry


def session_life(settings: AccountSettings) -> SessionLife:
    """Return how long sessions last."""
    return SessionLife(settings.session_idle_days * DAY, settings.session_absolute_days * DAY)


FEATURE = Feature(
    "accounts",
    operations=[
        AuthOperations,
        PasswordResetOperations,
        AccountOperations,
        SessionOperations,
        KeyOperations,
    ],
    menu=[
        MenuEntry("site", "Account", "/account", 20, signed_in),
        MenuEntry("site", "Sign in", "/sign-in", 40, signed_out),
        MenuEntry("account", "You", "/account", 10),
        MenuEntry("account", "Password", "/account/password", 20),
        MenuEntry("account", "Browsers", "/account/sessions", 30),
        MenuEntry("account", "Keys", "/account/keys", 40),
        MenuEntry("account", "Terms", "/account/consent", 60, where_provided("legal_links")),
        MenuEntry("account", "Removal", "/account/removal", 70),
    ],
    retention=lambda settings: [
        removal(lambda now: expire_sessions(*session_life(settings).alive_since(now))),
        removal(portal_tokens.expire),
        removal(password_resets.expire),
    ],
)


@dataclass(frozen=True)
class Accounts:
    """The use cases of accounts that other features use."""

    parts: Parts
    credentials: Credentials
    authenticator: SessionOrKey
    passwords: Passwords
    maker: SessionMaker
    devices: KnownDevices
    life: SessionLife
    removal: AccountRemoval
    portal: Portal


def accounts_feature(
    kernel: Kernel, settings: AccountSettings, mail: Mail, legal: Legal, usage: Usage
) -> Accounts:
    """Return the feature; nothing runs yet."""
    store, audit, attempts = kernel.store, kernel.audit, kernel.attempts
    life = session_life(settings)
    activity = Activity(store)
    workers = hash_workers()
    passwords = Passwords(
        new_entropy=new_entropy, run=workers.run, known_waiting=settings.known_device_queue
    )
    credentials = Credentials(
        store,
        activity,
        now=now,
        life=life,
        # Another process may revoke a credential, and the next request must be refused.
        fresh=0.0 if kernel.shared else CACHE_SECONDS,
        legal=legal.documents,
        elapsed=elapsed,
    )
    kernel.after.account_changed.listen(credentials.forget)
    origin = settings.public_url
    authenticator = SessionOrKey(credentials, origin=origin, legal=legal.documents)
    maker = SessionMaker(now=now, new_id=new_id, new_entropy=new_entropy)
    devices = KnownDevices(store, now=now, new_entropy=new_entropy)
    signing_in = SignIn(store, passwords, attempts, maker, audit=audit, now=now, life=life)
    own_password = OwnPassword(
        store,
        passwords,
        attempts,
        audit=audit,
        now=now,
        new_id=new_id,
        mail_added=mail.delivery.wake,
    )
    password_reset = PasswordReset(
        store,
        passwords,
        attempts,
        audit=audit,
        now=now,
        new_id=new_id,
        random=jitter,
        mail_added=mail.delivery.wake,
    )
    mail.delivery.prepare(
        "password_reset", reset_messages(store, origin, now=now, new_token=new_entropy)
    )
    removes = AccountRemoval(audit, now=now, gone=kernel.after.deleted, removed=kernel.after.erased)
    portal_addresses = {page.name: page.address for page in settings.portal}
    portal = Portal(store, portal_addresses, now=now, new_token=new_entropy)
    own_consent = OwnConsent(legal.documents, audit=audit, now=now)
    own_keys = OwnKeys(
        store, attempts, audit=audit, now=now, new_id=new_id, new_entropy=new_entropy
    )

    def pages(site: PageRegistry) -> None:
        from octavo.features.accounts.pages import add_pages

        add_pages(
            site,
            password_reset.opens,
            usage.meter.installation_usage,
            portal_addresses,
            now,
            sends_mail=mail.sends,
        )

    parts = Parts(
        operations=[
            AuthOperations(
                signing_in, devices, own_password, life=life, origin=origin, legal=legal.documents
            ),
            PasswordResetOperations(password_reset, origin=origin),
            AccountOperations(
                OwnAccount(store, now=now),
                own_password,
                removes,
                devices,
                own_consent,
                portal,
                legal.documents,
            ),
            SessionOperations(OwnSessions(store, audit=audit, now=now, life=life), life=life),
            KeyOperations(own_keys, now=now),
        ],
        authenticators={
            contract.Security.SESSION_OR_KEY: authenticator,
            contract.Security.OPERATOR: OperatorTokens(settings.operator_tokens, audit.refused),
        },
        pages=pages,
        workers=[
            worker("passwords", workers.serve),
            worker("activity", activity.run, activity.flush),
        ],
    )
    return Accounts(
        parts, credentials, authenticator, passwords, maker, devices, life, removes, portal
    )
