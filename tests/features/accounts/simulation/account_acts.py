"""What people do with their own accounts: passwords, sessions, keys, consent and the portal."""

from random import Random
from urllib.parse import parse_qs, urlsplit

import trio
from octavo_rules.identity import AccountId

from octavo.access.ports import milliseconds
from octavo.features.accounts.sql import password_resets
from octavo.features.mail import sql as outbox
from octavo.features.mail.rules import REQUEST_DELAY_SECONDS
from octavo.model.access.account import KeyId, SessionId, Versions
from octavo.model.access.audit import AuditKind
from octavo.model.access.rate import Rate
from octavo.model.access.token import digest_of, opaque_token
from tests.fakes.identity_fixture import START
from tests.features.accounts.simulation.deeds import Credential, CredentialKind
from tests.features.accounts.simulation.guesses import guess_many, recorded
from tests.features.accounts.simulation.process import LEGAL, IdentityProcess
from tests.features.accounts.simulation.town import Person, Town

BUDGET = Rate(20, 3600.0)
CLAIM = 60_000
"""Milliseconds of a claim on a message."""
RESET_LIVES = (3_600_000, 3_600_000, 300)
"""Milliseconds in which a token can be used."""


def ready(person: Person) -> AccountId:
    """Return the account of a person who has one."""
    assert person.account_id is not None, f"{person.name} has no account"
    return person.account_id


def new_password(random: Random) -> str:
    """Return a valid password."""
    return f"tulips on the moon {random.randrange(1000)}"


async def sign_in(town: Town, person: Person, random: Random) -> None:
    """Sign in, usually with the newest password."""
    password = random.choice([*person.passwords, *[person.passwords[-1]] * 3])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        made = await recorded(
            town.guesses,
            process,
            person.address,
            lambda: process.identity.signing_in.sign_in(
                person.address, password, "Firefox", remote_address
            ),
        )
        account_id = made.account.account_id
        person.credentials.append(
            Credential("session", made.session.session_id, account_id, made.token)
        )

    await town.deeds.attempt(random, "sign in", ("sign_in",), act)


async def guess(town: Town, random: Random) -> None:
    """Guess the password of somebody, several times at once."""
    address, number = town.other(random).address, random.choice([3, 8, 12])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        signing_in = process.identity.signing_in
        await guess_many(
            town.guesses,
            process,
            address,
            lambda: signing_in.sign_in(address, "a wrong password", "Firefox", remote_address),
            number,
        )

    await town.deeds.attempt(random, "guess", (), act)


async def change_password(town: Town, person: Person, random: Random) -> None:
    """Choose another password, and end the other sessions."""
    sessions = of_kind(person, "session")
    if not sessions:
        return
    kept = random.choice(sessions)
    current, new = person.passwords[-1], new_password(random)
    person.passwords.append(new)

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        await process.identity.own_password.change(
            ready(person),
            current,
            new,
            session=SessionId(kept.credential_id),
            end_others=True,
            remote_address=remote_address,
        )
        return True

    if await town.deeds.attempt(random, "change password", ("password_changed",), act):
        others = [each for each in sessions if each != kept]
        await town.deeds.end(others, "the change of the password")


async def request_reset(town: Town, person: Person, random: Random) -> None:
    """Have a token sent, which is not recorded."""
    asked = random.choice([person, person, town.other(random)])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await process.identity.password_reset.request(asked.address)

    await town.deeds.attempt(random, "request reset", (), act)


async def deliver(town: Town, person: Person, random: Random) -> None:
    """Deliver the next message of the outbox."""

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await deliver_one(town, process)

    await town.deeds.attempt(random, "deliver mail", (), act)


async def deliver_one(town: Town, process: IdentityProcess) -> bool:
    """Deliver the next message through a process; return False for an empty outbox."""
    sources = process.identity.sources
    now = milliseconds(sources.now())
    # Requested messages are delayed; the delivery comes after the longest delay.
    due = now + milliseconds(REQUEST_DELAY_SECONDS[1])
    mail = await process.store.write(outbox.claim(due, due + CLAIM))
    if mail is None:
        return False
    if mail.kind == "password_reset":
        entropy = sources.new_entropy()
        token = opaque_token(entropy)
        expires_at = now + RESET_LIVES[entropy[0] % len(RESET_LIVES)]
        account = await process.store.write(
            password_resets.create_for_mail(
                mail, digest_of(token.encode()), expires_at, now, BUDGET
            )
        )
        if account is not None:
            town.expiries[token] = expires_at
            town.resets.append((token, account.address.partition("@")[0]))
    await process.store.write(outbox.settle(mail))
    return True


async def reset(town: Town, person: Person, random: Random) -> None:
    """Choose a password with a token that somebody got, which others may use as well."""
    if not town.resets:
        return
    token, name = random.choice(town.resets[-2:])
    subject, new = town.people[name], new_password(random)
    subject.passwords.append(new)
    sessions = of_kind(subject, "session")
    expired = milliseconds(START + trio.current_time()) > town.expiries[token]

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        for each in sessions[-1:]:
            await process.identity.credentials.of_session(each.secret.encode())
        await process.identity.password_reset.perform(token, new, remote_address=remote_address)
        return True

    if await town.deeds.attempt(random, "reset", ("password_changed",), act, once=token):
        if expired:
            town.deeds.violated("a password was reset with a token that had expired")
        await town.deeds.end(sessions, "the reset of the password")
    elif expired:
        town.deeds.sights.add("reset: expired")


async def consent(town: Town, person: Person, random: Random) -> None:
    """Accept the documents in force, or others by mistake."""
    versions = random.choice([LEGAL.versions, LEGAL.versions, Versions("1")])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await process.identity.own_consent.accept(
            ready(person), versions, remote_address=remote_address
        )

    await town.deeds.attempt(random, "consent", ("documents_accepted",), act)


async def choose_policy(town: Town, person: Person, random: Random) -> None:
    """Choose who may register, as an administrator."""

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await process.identity.installation.change(
            "invitation", actor=ready(person), remote_address=remote_address
        )

    await town.deeds.attempt(random, "choose policy", ("installation_changed",), act)


async def create_key(town: Town, person: Person, random: Random) -> None:
    """Create a key."""

    async def act(process: IdentityProcess, remote_address: str) -> None:
        account_id = ready(person)
        key, secret = await process.identity.own_keys.create(
            account_id, "script", None, remote_address=remote_address
        )
        person.credentials.append(Credential("key", key.key_id, account_id, secret))

    await town.deeds.attempt(random, "create key", ("key_created",), act)


async def revoke(town: Town, person: Person, random: Random) -> None:
    """Revoke a key or end a session, after a use of it."""
    held = [each for each in person.credentials if each.kind != "token"]
    if not held:
        return
    which = random.choice([*held, *of_kind(person, "key")[-1:] * 3])
    account_id = AccountId(which.account_id)

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        identity, secret = process.identity, which.secret.encode()
        if which.kind == "key":
            await identity.credentials.of_key(secret)
            await identity.own_keys.revoke(
                account_id, KeyId(which.credential_id), remote_address=remote_address
            )
        else:
            await identity.credentials.of_session(secret)
            await identity.own_sessions.end(
                account_id, SessionId(which.credential_id), remote_address=remote_address
            )
        return True

    kind: AuditKind = "key_revoked" if which.kind == "key" else "session_ended"
    if await town.deeds.attempt(random, f"revoke {which.kind}", (kind,), act):
        await town.deeds.end([which], "its revocation")


async def open_portal(town: Town, person: Person, random: Random) -> None:
    """Open the portal of the operator, which is not recorded."""

    async def act(process: IdentityProcess, remote_address: str) -> None:
        address = await process.identity.portal.open(ready(person), "plan")
        town.portal.append(parse_qs(urlsplit(address).query)["token"][0])

    await town.deeds.attempt(random, "open portal", (), act)


async def redeem(town: Town, person: Person, random: Random) -> None:
    """Redeem a portal token, which others may redeem as well."""
    if not town.portal:
        return
    token = random.choice(town.portal[-2:])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await process.identity.portal.redeem(token)

    await town.deeds.attempt(random, "redeem", (), act, once=token)


def of_kind(person: Person, kind: CredentialKind) -> list[Credential]:
    """Return the credentials of a kind that a person has had."""
    return [each for each in person.credentials if each.kind == kind]
