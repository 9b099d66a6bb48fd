"""Hashing and verifying passwords."""

import os
import resource
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import ParamSpec, TypeVar

import pytest
import trio
import trio.testing
from argon2 import PasswordHasher, extract_parameters
from octavo_rules.identity import AccountId

from octavo.features.accounts.argon2id import Argon2, matches
from octavo.features.accounts.passwords import Passwords, hash_workers
from octavo.model.access.account import TooManyAttempts
from octavo.workers import WorkerFailed, WorkerPool
from tests.fakes.identity_fixture import (
    CHEAP,
    PASSWORD,
    IdentityFixture,
    PredictableSources,
    hash_inline,
)

ANN, BEN, CID = (AccountId(name) for name in ("ann", "ben", "cid"))
FOUR_LANES = Argon2(passes=1, memory=32, lanes=4)

P = ParamSpec("P")
T = TypeVar("T")


def passwords(
    cost: Argon2 = CHEAP, at_once: int = 2, waiting: int = 32, known_waiting: int = 16
) -> Passwords:
    return Passwords(
        new_entropy=PredictableSources().new_entropy,
        cost=cost,
        at_once=at_once,
        waiting=waiting,
        known_waiting=known_waiting,
        run=hash_inline,
    )


async def test_hashed_password_is_verified_and_no_other() -> None:
    kept = passwords()
    encoded = await kept.hash(PASSWORD)
    assert await kept.verify(PASSWORD, encoded)
    assert not await kept.verify(f"{PASSWORD}!", encoded)
    assert not await kept.verify("", encoded)


async def test_password_is_verified_in_any_unicode_composition() -> None:
    kept = passwords()
    assert await kept.verify("a\u0308 tulip moon", await kept.hash("\u00e4 tulip moon"))


async def test_password_is_hashed_with_its_own_salt() -> None:
    kept = passwords()
    assert await kept.hash(PASSWORD) != await kept.hash(PASSWORD)


async def test_password_hashed_by_other_programs_is_verified() -> None:
    encoded = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1).hash(PASSWORD)
    assert await passwords().verify(PASSWORD, encoded)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every processor counts")
@pytest.mark.parametrize(("processors", "at_once"), [(1, 1), (2, 1), (7, 1), (8, 2), (32, 8)])
async def test_hashes_take_four_processors_each(
    processors: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Those of this process: zero.
    monkeypatch.setattr(os, "sched_getaffinity", {0: set(range(processors))}.__getitem__)
    assert (hash_workers().size, hash_workers(1).size) == (at_once, 1)
    running = trio.CapacityLimiter(at_once)
    done = trio.Event()

    async def held(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        async with running:
            await done.wait()
            return function(*arguments, **named)

    kept = Passwords(
        new_entropy=PredictableSources().new_entropy, cost=FOUR_LANES, waiting=0, run=held
    )
    async with trio.open_nursery() as nursery:
        for _ in range(at_once):
            nursery.start_soon(kept.hash, PASSWORD)
        await trio.testing.wait_all_tasks_blocked()
        assert running.borrowed_tokens == at_once
        with pytest.raises(TooManyAttempts):
            await kept.hash(PASSWORD)
        done.set()


@pytest.mark.parametrize(("processors", "size"), [(None, 1), (1, 1), (4, 1), (8, 2)])
def test_every_processor_counts_where_none_can_be_withheld(
    processors: int | None, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", "darwin")
        patched.setattr(os, "cpu_count", lambda: processors)
        workers = hash_workers()
    assert workers.size == size


async def test_process_of_hashes_is_started_ahead() -> None:
    workers = hash_workers(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.serve)
        await trio.testing.wait_all_tasks_blocked()
        # What is in use is a process that starts, as nothing is hashed.
        assert workers._limiter.borrowed_tokens == 1
        nursery.cancel_scope.cancel()


async def test_hash_costs_what_is_recommended_unless_said_otherwise() -> None:
    # The second recommended option of RFC 9106, section 4.
    kept = Passwords(new_entropy=PredictableSources().new_entropy, run=hash_inline)
    parameters = extract_parameters(await kept.hash(PASSWORD))
    assert (parameters.time_cost, parameters.memory_cost, parameters.parallelism) == (3, 65_536, 4)


@pytest.mark.parametrize("cost", [CHEAP, Argon2(2, 24, 3)])
async def test_missing_account_costs_as_much_as_a_real_one(cost: Argon2) -> None:
    verified: list[object] = []

    async def noted(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        if function is matches:
            verified.append(arguments[1])
        return await hash_inline(function, *arguments, **named)

    kept = Passwords(new_entropy=PredictableSources().new_entropy, cost=cost, run=noted)
    assert await kept.verify(PASSWORD, await kept.hash(PASSWORD))
    assert not await kept.verify(PASSWORD, None)
    # An encoding that argon2 can't read would fail early, which reveals that no account exists.
    real, missing = (extract_parameters(str(encoded)) for encoded in verified)
    assert missing == real


async def test_overlong_password_is_refused_without_hashing() -> None:
    kept = passwords(at_once=1, waiting=0)
    async with occupied(kept):
        assert not await kept.verify("x" * 10_000_000, None)
        with pytest.raises(ValueError, match="too long"):
            await kept.hash("x" * 10_000_000)


@asynccontextmanager
async def occupied(kept: Passwords) -> AsyncIterator[None]:
    """Occupies all hashing slots."""
    turns = kept._at_once
    for _ in range(turns):
        await kept._turns.acquire("occupied")
    try:
        yield
    finally:
        for _ in range(turns):
            kept._turns.release("occupied")


async def test_hashes_over_the_queue_limit_are_refused_with_a_retry_time() -> None:
    kept = passwords(at_once=1, waiting=2)
    async with trio.open_nursery() as nursery, occupied(kept):
        for _ in range(3):
            nursery.start_soon(kept.hash, PASSWORD)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(TooManyAttempts) as refused:
            await kept.verify(PASSWORD, None)
        # Nobody knows yet how long a hash takes.
        assert refused.value.retry_after == 2
    assert not await kept.verify(PASSWORD, None)


async def test_known_caller_goes_before_strangers_who_fill_the_queue() -> None:
    kept = passwords(at_once=1, waiting=8)
    ended: list[str] = []

    async def verify(name: str, *, known: AccountId | None = None) -> None:
        await kept.verify(PASSWORD, None, known=known)
        ended.append(name)

    async with trio.open_nursery() as nursery, occupied(kept):
        for _ in range(9):
            nursery.start_soon(verify, "stranger")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(TooManyAttempts):
            kept.require_room()
        kept.require_room(known=ANN)
        nursery.start_soon(partial(verify, "known", known=ANN))
        await trio.testing.wait_all_tasks_blocked()
    assert ended.index("known") <= 1
    assert len(ended) == 10


@pytest.mark.parametrize("known_waiting", [1, 16, 40])
async def test_known_callers_are_limited_as_well(known_waiting: int) -> None:
    kept = passwords(at_once=1, waiting=0, known_waiting=known_waiting)
    async with trio.open_nursery() as nursery, occupied(kept):
        for number in range(kept.capacity + known_waiting):
            known = AccountId(f"account-{number}")
            kept.require_room(known=known)
            nursery.start_soon(partial(kept.verify, PASSWORD, None, known=known))
            await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(TooManyAttempts):
            kept.require_room(known=ANN)


async def test_known_callers_of_one_account_leave_places_for_others() -> None:
    kept = passwords(at_once=1, waiting=0)
    async with trio.open_nursery() as nursery, occupied(kept):
        for _ in range(2):
            nursery.start_soon(partial(kept.verify, PASSWORD, None, known=BEN))
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(20):
            with pytest.raises(TooManyAttempts):
                await kept.verify(PASSWORD, None, known=BEN)
        kept.require_room(known=ANN)
    # They are places for the time of the attempts.
    kept.require_room(known=BEN)


async def test_known_callers_have_turns_in_rotation_of_their_accounts() -> None:
    kept = passwords(at_once=1, waiting=8)
    ended: list[AccountId | None] = []

    async def verify(known: AccountId | None) -> None:
        await kept.verify(PASSWORD, None, known=known)
        ended.append(known)

    async with trio.open_nursery() as nursery, occupied(kept):
        for known in (BEN, BEN, CID, CID, None, None, ANN):
            nursery.start_soon(verify, known)
            await trio.testing.wait_all_tasks_blocked()
    assert ended == [BEN, CID, None, ANN, BEN, CID, None]


async def test_known_caller_waits_for_few_while_others_insist(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        await trio.sleep(1)
        return function(*arguments, **named)

    kept = Passwords(
        new_entropy=PredictableSources().new_entropy, cost=CHEAP, at_once=1, waiting=32, run=slow
    )
    refused = 0

    async def insist(known: AccountId | None) -> None:
        nonlocal refused
        while True:
            try:
                await kept.verify(PASSWORD, None, known=known)
            except TooManyAttempts:
                refused += 1
                await trio.sleep(0.1)

    async with trio.open_nursery() as nursery:
        for known in (*(20 * [BEN]), *(20 * [CID]), *(40 * [None])):
            nursery.start_soon(insist, known)
        await trio.sleep(10.5)
        for _ in range(5):
            began = trio.current_time()
            assert not await kept.verify(PASSWORD, None, known=ANN)
            # The hash that has begun, one for each of the two, one for strangers, and hers.
            assert trio.current_time() - began <= 5
        assert refused > 100
        nursery.cancel_scope.cancel()


async def test_hash_cancelled_while_waiting_frees_its_slot() -> None:
    kept = passwords(at_once=1, waiting=0)
    for _ in range(3):
        async with occupied(kept):
            with trio.move_on_after(0) as scope:
                await kept.hash(PASSWORD)
        assert scope.cancelled_caught
    assert await kept.hash(PASSWORD)


async def test_retry_time_is_that_of_the_hashes_which_wait(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        await trio.sleep(3)
        return function(*arguments, **named)

    kept = Passwords(
        new_entropy=PredictableSources().new_entropy, cost=CHEAP, at_once=2, waiting=4, run=slow
    )
    await trio.sleep(100)
    await kept.hash(PASSWORD)
    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(kept.hash, PASSWORD)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(TooManyAttempts) as refused:
            await kept.hash(PASSWORD)
        # Six hashes of three seconds, two at a time.
        assert refused.value.retry_after == 9
        began = trio.current_time()
    assert trio.current_time() - began == 9


async def test_retry_time_has_a_bound(autojump_clock: trio.testing.MockClock) -> None:
    async def stalled(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        await trio.sleep(1_000)
        return function(*arguments, **named)

    kept = Passwords(
        new_entropy=PredictableSources().new_entropy, cost=CHEAP, at_once=1, waiting=0, run=stalled
    )
    await kept.hash(PASSWORD)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(kept.hash, PASSWORD)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(TooManyAttempts) as refused:
            await kept.hash(PASSWORD)
        assert refused.value.retry_after == 60


async def test_hashes_run_up_to_the_limit() -> None:
    running = maximum = 0

    async def counted(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        nonlocal running, maximum
        running += 1
        maximum = max(maximum, running)
        await trio.testing.wait_all_tasks_blocked()
        running -= 1
        return function(*arguments, **named)

    kept = Passwords(
        new_entropy=PredictableSources().new_entropy, cost=CHEAP, at_once=2, run=counted
    )
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(kept.hash, PASSWORD)
    assert maximum == 2


async def test_full_queue_costs_no_attempt(identity: IdentityFixture) -> None:
    made = await identity.account()
    identity.signing_in._passwords = kept = passwords(at_once=1, waiting=0)
    async with occupied(kept), trio.open_nursery() as nursery:
        nursery.start_soon(kept.verify, PASSWORD, None)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(100):
            with pytest.raises(TooManyAttempts):
                await identity.signing_in.sign_in(made.account.address, PASSWORD, "", None)
        nursery.cancel_scope.cancel()
    await identity.signing_in.sign_in(made.account.address, PASSWORD, "", None)


async def test_full_queue_costs_no_attempt_to_prove_a_password(identity: IdentityFixture) -> None:
    account_id = (await identity.account()).account.account_id
    identity.own_password._passwords = kept = passwords(at_once=1, waiting=0)
    async with occupied(kept), trio.open_nursery() as nursery:
        nursery.start_soon(kept.verify, PASSWORD, None)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(100):
            with pytest.raises(TooManyAttempts):
                await identity.own_password.prove(account_id, PASSWORD, "a", remote_address=None)
        nursery.cancel_scope.cancel()
    await identity.own_password.prove(account_id, PASSWORD, "a", remote_address=None)


async def test_hashes_of_worker_processes_are_verified_by_them() -> None:
    workers = hash_workers()
    kept = Passwords(new_entropy=PredictableSources().new_entropy, cost=CHEAP, run=workers.run)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.serve)
        encoded = await kept.hash(PASSWORD)
        assert encoded == await passwords().hash(PASSWORD)
        assert await kept.verify(PASSWORD, encoded)
        assert not await kept.verify(f"{PASSWORD}!", encoded)
        assert not await kept.verify(PASSWORD, "nonsense")
        # The lanes of a hash are threads, which count as processes. The superuser has no limit.
        threads, _ = await workers.run(resource.getrlimit, resource.RLIMIT_NPROC)
        assert threads != 0
        nursery.cancel_scope.cancel()


async def test_passwords_of_links_have_a_process_of_their_own() -> None:
    entropy = PredictableSources().new_entropy
    workers, hashers = hash_workers(), hash_workers(1, ahead=False)
    assert hashers.size == 1
    of_links = Passwords(new_entropy=entropy, cost=CHEAP, run=hashers.run, at_once=1, waiting=0)
    of_people = Passwords(new_entropy=entropy, cost=CHEAP, run=workers.run)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.serve)
        nursery.start_soon(hashers.serve)
        async with occupied(of_links):
            nursery.start_soon(of_links.verify, PASSWORD, None)
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(TooManyAttempts):
                await of_links.verify(PASSWORD, None)
            assert not await of_people.verify(PASSWORD, None)
        nursery.cancel_scope.cancel()


async def test_hash_without_memory_is_reported_as_a_failed_worker() -> None:
    workers = WorkerPool(1, seconds=60)
    # 4 TiB of memory.
    cost = Argon2(1, 2**32 - 1, 1)
    kept = Passwords(new_entropy=PredictableSources().new_entropy, cost=cost, run=workers.run)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.serve)
        with pytest.raises(WorkerFailed, match="HashingError"):
            await kept.hash(PASSWORD)
        nursery.cancel_scope.cancel()


async def test_sign_in_after_a_cost_change_rehashes(identity: IdentityFixture) -> None:
    made = await identity.account()
    [[before]] = await identity.rows("SELECT password FROM accounts")
    identity.signing_in._passwords = passwords(Argon2(2, 16, 1))
    await identity.signing_in.sign_in(made.account.address, PASSWORD, "", None)
    [[after]] = await identity.rows("SELECT password FROM accounts")
    assert ("t=1" in before, "t=2" in after) == (True, True)
    await identity.signing_in.sign_in(made.account.address, PASSWORD, "", None)
    assert await identity.rows("SELECT password FROM accounts") == [(after,)]


async def test_sign_in_after_a_cost_change_rehashes_no_other_password(
    identity: IdentityFixture,
) -> None:
    ann = await identity.account()
    ben = await identity.account("ben@example.org")
    identity.signing_in._passwords = passwords(Argon2(2, 16, 1))
    await identity.signing_in.sign_in(ann.account.address, PASSWORD, "", None)
    stored = await identity.rows("SELECT id, password FROM accounts")
    assert dict(map(tuple, stored))[ben.account.account_id] == ben.encoded
