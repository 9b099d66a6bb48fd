"""Authenticating callers: lookup, cache, invalidation."""

import pytest
import trio
from octavo_rules.identity import READ, WRITE, AccountId, WorkspaceId
from trio.testing import MockClock, wait_all_tasks_blocked

from octavo.access.caller import Caller
from octavo.features.accounts.credentials import CachedCaller, CredentialCache, Credentials
from octavo.features.accounts.own_credentials import NotAMember
from octavo.model.access.account import AccessLimits, parse_scopes
from octavo.store import StoreUnavailable
from octavo.store.queries.workspaces import create
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.identity_fixture import LIFE, START, IdentityFixture

ANN, BOB = AccountId("ann"), AccountId("bob")
HOME = "01900000-0000-7000-8000-aaaaaaaaaaaa"
WORK = "01900000-0000-7000-8000-bbbbbbbbbbbb"


async def secret_of(identity: IdentityFixture, account_id: AccountId) -> bytes:
    _, secret = await identity.own_keys.create(account_id, "a", None, remote_address=None)
    return secret.encode()


async def test_caller_by_session_is_the_account_with_its_session(identity: IdentityFixture) -> None:
    made = await identity.account(role="administrator")
    assert await identity.credentials.of_session(made.token.encode()) == Caller(
        made.account.account_id,
        "administrator",
        locked=False,
        session_id=made.session.session_id,
    )


async def test_caller_by_key_is_the_account_with_its_key(identity: IdentityFixture) -> None:
    made = await identity.account()
    key, secret = await identity.own_keys.create(
        made.account.account_id, "a", None, remote_address=None
    )
    assert await identity.credentials.of_key(secret.encode()) == Caller(
        made.account.account_id, "member", locked=False, key_id=key.key_id
    )


@pytest.mark.parametrize(
    "limits",
    [
        AccessLimits(parse_scopes([READ])),
        AccessLimits(parse_scopes([WRITE]), frozenset({WorkspaceId(HOME), WorkspaceId(WORK)})),
        AccessLimits(parse_scopes([WRITE]), frozenset({WorkspaceId(HOME)}), "tea/Größe"),
    ],
)
async def test_caller_by_a_limited_key_has_its_limits(
    identity: IdentityFixture, limits: AccessLimits
) -> None:
    made = await identity.account()
    account_id = made.account.account_id
    for workspace in (HOME, WORK):
        await identity.store.write(create(WorkspaceId(workspace), "A workspace", account_id, 0))
    key, secret = await identity.own_keys.create(account_id, "a", None, limits, remote_address=None)
    assert await identity.credentials.of_key(secret.encode()) == Caller(
        account_id, "member", locked=False, key_id=key.key_id, limits=limits
    )
    assert await identity.own_keys.list(account_id) == [key]


async def test_key_is_limited_to_workspaces_of_the_account_only(identity: IdentityFixture) -> None:
    ann, bob = await identity.account(), await identity.account("bob@example.org")
    await identity.store.write(create(WorkspaceId(WORK), "Bob's", bob.account.account_id, 0))
    limits = AccessLimits(parse_scopes([READ]), frozenset({WorkspaceId(WORK)}))
    with pytest.raises(NotAMember) as refusal:
        await identity.own_keys.create(
            ann.account.account_id, "a", None, limits, remote_address=None
        )
    assert refusal.value.workspace_ids == {WORK}
    assert await identity.own_keys.list(ann.account.account_id) == []


async def test_caller_seen_a_moment_ago_asks_no_store(identity: IdentityFixture) -> None:
    made = await identity.account()
    secret = await secret_of(identity, made.account.account_id)
    before = identity.store.reads
    for _ in range(5):
        assert await identity.credentials.of_session(made.token.encode())
        assert await identity.credentials.of_key(secret)
    assert identity.store.reads == before + 2


async def test_caller_is_looked_up_again_after_the_cache_time(
    identity: IdentityFixture, autojump_clock: MockClock
) -> None:
    made = await identity.account()
    secret = await secret_of(identity, made.account.account_id)
    assert await identity.credentials.of_session(made.token.encode())
    assert await identity.credentials.of_key(secret)
    await identity.execute("DELETE FROM sessions")
    await identity.execute("DELETE FROM api_keys")
    await trio.sleep(4.9)
    assert await identity.credentials.of_session(made.token.encode())
    assert await identity.credentials.of_key(secret)
    await trio.sleep(0.1)
    assert await identity.credentials.of_session(made.token.encode()) is None
    assert await identity.credentials.of_key(secret) is None


async def test_invalidated_caller_is_looked_up_immediately(identity: IdentityFixture) -> None:
    made = await identity.account()
    secret = await secret_of(identity, made.account.account_id)
    assert await identity.credentials.of_session(made.token.encode())
    assert await identity.credentials.of_key(secret)
    await identity.execute("UPDATE accounts SET state = 'disabled'")
    identity.credentials.forget(made.account.account_id)
    assert await identity.credentials.of_session(made.token.encode()) is None
    assert await identity.credentials.of_key(secret) is None


async def test_key_whose_revocation_seems_to_fail_is_looked_up_again(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    ann = made.account.account_id
    key, secret = await identity.own_keys.create(ann, "a", None, remote_address=None)
    assert await identity.credentials.of_key(secret.encode())
    identity.store.fail = StoreUnavailable("gone", outcome_unknown=True)
    identity.store.commits_anyway = True
    with pytest.raises(StoreUnavailable):
        await identity.own_keys.revoke(ann, key.key_id, remote_address=None)
    assert await identity.credentials.of_key(secret.encode()) is None


async def test_session_whose_end_seems_to_fail_is_looked_up_again(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    ann, session = made.account.account_id, made.session.session_id
    assert await identity.credentials.of_session(made.token.encode())
    identity.store.fail = StoreUnavailable("gone", outcome_unknown=True)
    identity.store.commits_anyway = True
    with pytest.raises(StoreUnavailable):
        await identity.own_sessions.end(ann, session, remote_address=None)
    assert await identity.credentials.of_session(made.token.encode()) is None


async def test_caller_read_before_its_invalidation_is_not_cached(identity: IdentityFixture) -> None:
    made = await identity.account()
    secret = await secret_of(identity, made.account.account_id)
    slow = FaultyStore(identity.store)
    slow.release_reads = trio.Event()
    credentials = Credentials(slow, identity.activity, now=identity.sources.now, life=LIFE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(credentials.of_session, made.token.encode())
        nursery.start_soon(credentials.of_key, secret)
        await wait_all_tasks_blocked()
        await identity.execute("UPDATE accounts SET state = 'disabled'")
        credentials.forget(made.account.account_id)
        slow.release_reads.set()
    assert await credentials.of_session(made.token.encode()) is None
    assert await credentials.of_key(secret) is None


async def test_caller_in_activity_keeps_the_session_to_its_absolute_end(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    day = 86_400.0
    for days in range(10, 90, 10):
        identity.sources.time = START + days * day
        identity.credentials.forget(made.account.account_id)
        assert await identity.credentials.of_session(made.token.encode())
        await identity.activity.flush()
    identity.sources.time = START + 90 * day
    assert await identity.credentials.of_session(made.token.encode()) is None


async def test_activity_is_written_down_once_a_minute(identity: IdentityFixture) -> None:
    made = await identity.account()
    secret = await secret_of(identity, made.account.account_id)
    writes = identity.store.writes
    for second in range(181):
        identity.sources.time = START + second
        if second % 7 == 0:
            identity.credentials.forget(made.account.account_id)
        assert await identity.credentials.of_session(made.token.encode())
        assert await identity.credentials.of_key(secret)
        await identity.activity.flush()
    # The key is first used at 0, when the session also begins.
    assert identity.store.writes - writes == 4
    rows = await identity.rows("SELECT active_at, used_at FROM sessions, api_keys")
    assert rows == [((START + 180) * 1000, (START + 180) * 1000)]


def entry(account_id: AccountId) -> CachedCaller:
    return CachedCaller(Caller(account_id, "member", locked=False), "", 0, 0)


def test_cache_is_bounded_and_evicts_the_oldest() -> None:
    remembered = CredentialCache(2)
    for digest in (b"1", b"2", b"3"):
        remembered.keep(digest, entry(ANN), 0)
    assert len(remembered) == 2
    assert remembered.entries.get(b"1") is None
    assert remembered.entries.get(b"3") is not None


def test_callers_of_one_account_are_invalidated_and_no_others() -> None:
    remembered = CredentialCache(10)
    for digest, account_id in ((b"1", ANN), (b"2", BOB), (b"3", ANN)):
        remembered.keep(digest, entry(account_id), 0)
    remembered.forget(ANN)
    assert remembered.entries.get(b"1") is None
    assert remembered.entries.get(b"2") is not None
    assert remembered.entries.get(b"3") is None


def test_look_up_that_began_before_everything_was_forgotten_is_not_cached() -> None:
    remembered = CredentialCache(10)
    remembered.keep(b"1", entry(ANN), 0)
    remembered.forget_all()
    remembered.keep(b"2", entry(BOB), 0)
    assert len(remembered) == 0
    remembered.keep(b"2", entry(BOB), remembered.generation)
    assert remembered.entries.get(b"2") is not None


def test_caller_cached_again_is_cached_once() -> None:
    remembered = CredentialCache(10)
    remembered.keep(b"1", entry(ANN), 0)
    remembered.keep(b"1", entry(BOB), 0)
    remembered.forget(ANN)
    assert remembered.entries.get(b"1") is not None
    remembered.forget(BOB)
    assert len(remembered) == 0


def test_eviction_leaves_nothing_behind() -> None:
    remembered = CredentialCache(3)
    for number in range(100):
        remembered.keep(b"%d" % number, entry(AccountId(str(number))), 0)
    assert len(remembered._digests) == 3
