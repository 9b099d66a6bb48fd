"""What the audit records of each use case, and what it never contains."""

import logging
from collections.abc import Awaitable, Callable
from random import Random

import pytest
import trio
from octavo_rules.identity import AccountId, WorkspaceId
from trio.testing import MockClock

from octavo.access.audit import Audit, RefusedAttempts, audit_log
from octavo.features.accounts.rules.decisions import ControlsChange, DecisionsChange
from octavo.features.accounts.rules.refusal import (
    InvalidCredentials,
    LastAdministrator,
    NoSuchKey,
    NoSuchSession,
)
from octavo.model.access.account import Address, SessionId, Versions
from octavo.model.access.audit import AuditEntry, AuditId
from octavo.model.usage import StorageLimit
from octavo.store import StoreUnavailable
from octavo.store.queries.process_notices import CHANNEL, AccessNotice, read_notice
from octavo.store.transaction import Transaction
from tests.fakes.identity_fixture import PASSWORD, IdentityFixture
from tests.fakes.stores import open_postgres

ANN = Address("ann@example.org")
CLIENT = "192.0.2.7"
GIVEN = (
    PASSWORD,
    "another good password",
    "ann@example.org",
    "Ann",
    "my laptop",
    "unpaid",
    "Firefox",
)


async def only_read(_: Transaction) -> None:
    """Change nothing."""


async def stored(identity: IdentityFixture) -> list[AuditEntry]:
    """Every entry, the oldest first."""
    return (await identity.audit.page(None, 100))[::-1]


async def test_entries_are_recorded_without_a_change(identity: IdentityFixture) -> None:
    entries = [
        identity.audit.entry("command", actor="system", detail={"command": f"account_{action}"})
        for action in ("unlock", "promote")
    ]
    await identity.audit.record(*entries)
    assert await stored(identity) == entries == identity.audited


async def test_use_cases_record_their_changes_with_their_actor_and_client(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    ann = made.account.account_id
    first = made.session.session_id
    other = await identity.signing_in.sign_in(ANN, PASSWORD, "Firefox", CLIENT)
    second = await identity.signing_in.sign_in(ANN, PASSWORD, "Firefox", "2001:db8::1:2")
    key, _ = await identity.own_keys.create(ann, "my laptop", None, remote_address=CLIENT)
    await identity.own_keys.revoke(ann, key.key_id, remote_address=CLIENT)
    await identity.own_sessions.end(ann, second.session.session_id, remote_address=CLIENT)
    await identity.own_password.change(
        ann,
        PASSWORD,
        "another good password",
        session=first,
        end_others=False,
        remote_address=CLIENT,
    )
    await identity.own_sessions.end_others(ann, other.session.session_id, remote_address=CLIENT)
    await identity.signing_in.sign_out(other.token.encode(), remote_address=CLIENT)
    await identity.administration.decide(
        ann,
        DecisionsChange(
            role="administrator",
            storage=StorageLimit(10),
            controls=ControlsChange(1, locked=True, lock_reason="unpaid"),
        ),
        actor="operator",
        remote_address=CLIENT,
    )
    await identity.removal.remove_by_operator(ann, remote_address=CLIENT)
    entries = await stored(identity)
    assert identity.audited == entries
    invitation = entries[0].subject
    assert [(each.kind, each.actor, each.subject, each.client) for each in entries] == [
        ("invitation_created", "system", invitation, None),
        ("account_registered", ann, ann, CLIENT),
        ("sign_in", ann, other.session.session_id, CLIENT),
        ("sign_in", ann, second.session.session_id, "2001:db8::/64"),
        ("key_created", ann, key.key_id, CLIENT),
        ("key_revoked", ann, key.key_id, CLIENT),
        ("session_ended", ann, second.session.session_id, CLIENT),
        ("password_changed", ann, ann, CLIENT),
        ("sessions_ended", ann, ann, CLIENT),
        ("sign_out", ann, other.session.session_id, CLIENT),
        ("account_changed", "operator", ann, CLIENT),
        ("controls_changed", "operator", ann, CLIENT),
        ("account_removed", "operator", ann, CLIENT),
    ]
    assert [dict(each.detail) for each in entries] == [
        {"role": "member"},
        {"role": "member", "invitationId": invitation},
        *({},) * 5,
        {"endedOtherSessions": False},
        {"count": 1},
        {},
        {"role": "administrator", "storageBytes": 10},
        {"revision": 2, "locked": True},
        {"deletedWorkspaces": 0},
    ]
    rows = repr(await identity.rows("SELECT * FROM audit"))
    assert [given for given in GIVEN if given in rows] == []


Refused = Callable[[IdentityFixture, AccountId], Awaitable[object]]
REFUSED: dict[str, tuple[type[Exception], Refused]] = {
    "password": (
        InvalidCredentials,
        lambda identity, ann: identity.signing_in.sign_in(ANN, "a guess", "", CLIENT),
    ),
    "session": (
        NoSuchSession,
        lambda identity, ann: identity.own_sessions.end(ann, SessionId(ann), remote_address=CLIENT),
    ),
    "key": (
        NoSuchKey,
        lambda identity, ann: identity.own_keys.revoke(ann, ann, remote_address=CLIENT),  # type: ignore[arg-type]
    ),
    "last administrator": (
        LastAdministrator,
        lambda identity, ann: identity.administration.decide(
            ann, DecisionsChange(role="member"), actor="operator", remote_address=CLIENT
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_was_refused_is_not_recorded_as_done(
    identity: IdentityFixture, case: str
) -> None:
    made = await identity.account(role="administrator")
    before = await stored(identity)
    expected, call = REFUSED[case]
    with pytest.raises(expected):
        await call(identity, made.account.account_id)
    assert await stored(identity) == before
    assert identity.audited == before


async def test_an_entry_whose_write_failed_is_not_logged(identity: IdentityFixture) -> None:
    made = await identity.account()
    before = list(identity.audited)
    identity.store.away = True
    with pytest.raises(StoreUnavailable):
        await identity.own_keys.create(made.account.account_id, "a", None, remote_address=None)
    identity.store.away = False
    assert await stored(identity) == before == identity.audited


async def test_access_is_forgotten_after_a_write_whatever_became_of_it(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    ann, vault = made.account.account_id, WorkspaceId("vault")
    entry = identity.audit.entry("command", actor="system")
    heard: list[str] = []
    identity.after.account_changed.listen(heard.append)
    identity.after.workspace_changed.listen(heard.append)

    async def refuse(_: Transaction) -> None:
        raise NoSuchKey

    with pytest.raises(NoSuchKey):
        await identity.audit.write(refuse, entry, access_of=ann, within=vault)
    with trio.CancelScope() as scope:
        scope.cancel()
        await identity.audit.write(only_read, entry, access_of=ann)
    await identity.audit.write(only_read, entry)
    assert heard == [vault, ann, ann]


async def test_equal_refusals_are_one_entry_with_their_number(identity: IdentityFixture) -> None:
    made = await identity.account()
    before = len(await stored(identity))
    for address, client in ((ANN, CLIENT), (ANN, CLIENT), (Address("no@example.org"), CLIENT)):
        with pytest.raises(InvalidCredentials):
            await identity.signing_in.sign_in(address, "a guess", "", client)
    await identity.audit.refused.flush()
    await identity.audit.refused.flush()
    [known, unknown] = (await stored(identity))[before:]
    assert (known.kind, known.outcome, known.actor) == ("attempt_refused", "refused", None)
    assert (known.subject, known.client) == (made.account.account_id, CLIENT)
    assert known.detail == {
        "code": "credential_refused",
        "operation": "signInWithPassword",
        "count": 2,
    }
    assert (unknown.subject, unknown.detail["count"]) == (None, 1)


async def test_a_flood_of_refusals_is_a_limited_number_of_entries(
    identity: IdentityFixture,
) -> None:
    refused = RefusedAttempts(identity.audit, maximum=20)
    for number in range(10_000):
        code = "rate_limited" if number % 2 else "key_refused"
        refused.note(
            code, "signInWithPassword", remote_address=f"10.0.{number >> 8}.{number & 255}"
        )
    await refused.flush()
    entries = await stored(identity)
    assert len(entries) == 22
    assert sum(int(str(each.detail["count"])) for each in entries) == 10_000
    assert {each.client for each in entries[20:]} == {None}


async def test_refusals_that_are_counted_already_are_so_beyond_the_maximum(
    identity: IdentityFixture,
) -> None:
    refused = RefusedAttempts(identity.audit, maximum=1)
    for client in (CLIENT, CLIENT, "192.0.2.77", CLIENT):
        refused.note("key_refused", None, remote_address=client)
    await refused.flush()
    counts = [(each.client, each.detail["count"]) for each in await stored(identity)]
    assert counts == [(CLIENT, 3), (None, 1)]


async def test_the_first_refusal_is_recorded_immediately_and_others_after_an_interval(
    identity: IdentityFixture, autojump_clock: MockClock
) -> None:
    refused = RefusedAttempts(identity.audit, interval=30)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refused.run)
        refused.note("key_refused", None)
        await trio.sleep(1)
        assert len(identity.audited) == 1
        for _ in range(20):
            refused.note("key_refused", None)
            await trio.sleep(1)
        assert len(identity.audited) == 1
        await trio.sleep(30)
        assert [each.detail["count"] for each in identity.audited] == [1, 20]
        nursery.cancel_scope.cancel(reason="the test is over")


async def test_refusals_of_a_removed_account_are_recorded_without_their_client(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    with pytest.raises(InvalidCredentials):
        await identity.signing_in.sign_in(ANN, "a guess", "", CLIENT)
    await identity.remove_own(made.account.account_id, PASSWORD, remote_address=CLIENT)
    await identity.audit.refused.flush()
    removed, refused = (await stored(identity))[-2:]
    assert (removed.kind, removed.client) == ("account_removed", None)
    assert (refused.subject, refused.client) == (made.account.account_id, None)


async def test_refusals_are_dropped_and_logged_when_the_store_is_away(
    identity: IdentityFixture, caplog: pytest.LogCaptureFixture
) -> None:
    identity.store.away = True
    identity.audit.refused.note("key_refused", None)
    identity.audit.refused.note("key_refused", None)
    await identity.audit.refused.flush()
    assert [each.levelno for each in caplog.records] == [logging.WARNING]
    assert "2 refused attempts were not recorded: " in caplog.text


def test_a_line_of_the_log_has_the_members_that_have_a_value() -> None:
    lines: list[tuple[str, dict[str, object]]] = []
    entry = AuditEntry(AuditId("1"), 0, "command", "system", detail={"code": "list", "of": None})
    audit_log(lambda level, members: lines.append((level, members)))(entry)
    members = {
        "event": "audit",
        "logger": "octavo.audit",
        "kind": "command",
        "outcome": "done",
        "actor": "system",
        "auditId": "1",
        "code": "list",
    }
    assert lines == [("info", members)]


async def test_pages_are_read_by_kind_and_by_account(identity: IdentityFixture) -> None:
    made = await identity.account()
    bob = await identity.account("bob@example.org")
    audit: Audit = identity.audit
    [entry] = await audit.page(None, 10, account_id=made.account.account_id)
    [other] = await audit.page(None, 1, kind="account_registered")
    assert (entry.kind, entry.subject) == ("account_registered", made.account.account_id)
    assert other.subject == bob.account.account_id
    assert await audit.page(other.entry_id, 10, kind="account_registered") == [entry]


async def test_a_reset_password_and_the_command_for_it_are_recorded(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    token = await identity.reset_token()
    await identity.password_reset.perform(token, "another good password", remote_address=CLIENT)
    recovered, changed = (await stored(identity))[-2:]
    ann = made.account.account_id
    assert (recovered.kind, recovered.actor, recovered.subject) == ("command", "system", ann)
    assert recovered.detail == {"command": "recover"}
    assert (changed.kind, changed.actor, changed.client) == ("password_changed", ann, CLIENT)
    assert changed.detail == {"endedOtherSessions": True, "reset": True}


async def test_a_changed_installation_and_accepted_documents_are_recorded(
    identity: IdentityFixture,
) -> None:
    root = (await identity.account(role="administrator")).account.account_id
    await identity.installation.change("invitation", actor=root, remote_address=CLIENT)
    await identity.own_consent.accept(root, Versions(), remote_address=CLIENT)
    changed, accepted = (await stored(identity))[-2:]
    assert (changed.kind, changed.actor) == ("installation_changed", root)
    assert changed.detail == {"registrationPolicy": "invitation"}
    assert (accepted.kind, accepted.actor, accepted.client) == ("documents_accepted", root, CLIENT)


async def test_other_processes_are_notified_when_somebodys_access_may_have_changed(
    postgres_url: str,
) -> None:
    async def refuse(_: Transaction) -> bool:
        return False

    async with open_postgres(postgres_url, random=Random(1).random) as store:
        identity = IdentityFixture(store)
        ann = (await identity.account()).account.account_id
        ben = (await identity.account("ben@example.org")).account.account_id
        async with store.listen(CHANNEL) as messages:
            await identity.audit.write(only_read, lambda _: ())
            await identity.audit.write(refuse, lambda _: (), access_of=ann)
            await identity.audit.write(only_read, lambda _: (), access_of=ben)
            with trio.fail_after(10):
                heard = await anext(messages)
        assert isinstance(heard, str)
        assert read_notice(heard) == AccessNotice(ben)
