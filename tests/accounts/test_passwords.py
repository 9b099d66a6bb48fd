"""Hashing and verifying passwords."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import pytest
import trio
import trio.testing
from argon2 import PasswordHasher, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY

from octavo.accounts.passwords import Argon2, Passwords
from octavo.model.accounts.refusal import TooManyAttempts
from tests.fakes.identity_fixture import CHEAP, PASSWORD, IdentityFixture, PredictableSources


def passwords(cost: Argon2 = CHEAP, at_once: int = 2, waiting: int = 32) -> Passwords:
    return Passwords(
        new_entropy=PredictableSources().new_entropy, cost=cost, at_once=at_once, waiting=waiting
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
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    kept = Passwords(new_entropy=PredictableSources().new_entropy, waiting=0)
    async with AsyncExitStack() as stack:
        for _ in range(at_once):
            await stack.enter_async_context(kept._slot())
        with pytest.raises(TooManyAttempts):
            await kept.hash(PASSWORD)


def test_default_cost_is_the_second_recommended_profile() -> None:
    cost, profile = Argon2(), RFC_9106_LOW_MEMORY
    assert (cost.passes, cost.memory, cost.lanes) == (
        profile.time_cost,
        profile.memory_cost,
        profile.parallelism,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="priorities of threads are those of Linux")
async def test_hashes_have_the_lowest_priority_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    found: list[int] = []
    verify = PasswordHasher.verify

    def watched(hasher: PasswordHasher, encoded: str, password: bytes) -> bool:
        found.append(priority())
        return verify(hasher, encoded, password)

    monkeypatch.setattr(PasswordHasher, "verify", watched)
    kept = passwords()
    assert await kept.verify(PASSWORD, await kept.hash(PASSWORD))
    assert found == [19]
    assert await trio.to_thread.run_sync(priority) == priority() < 19


async def test_hash_has_the_cost_that_was_asked_for() -> None:
    encoded = await passwords(Argon2(passes=2, memory=24, lanes=3)).hash(PASSWORD)
    found = extract_parameters(encoded)
    assert encoded.startswith("$argon2id$")
    assert (found.time_cost, found.memory_cost, found.parallelism) == (2, 24, 3)
    assert (found.salt_len, found.hash_len) == (16, 32)


@pytest.mark.parametrize(
    ("cost", "outdated"),
    [(CHEAP, False), (Argon2(2, 8, 1), True), (Argon2(1, 16, 1), True), (Argon2(1, 16, 2), True)],
)
async def test_hash_of_another_cost_is_outdated(cost: Argon2, outdated: bool) -> None:
    encoded = await passwords().hash(PASSWORD)
    assert passwords(cost).outdated(encoded) is outdated


@pytest.mark.parametrize("cost", [CHEAP, Argon2(2, 24, 3)])
async def test_missing_account_costs_as_much_as_a_real_one(cost: Argon2) -> None:
    kept = passwords(cost)
    assert not await kept.verify(PASSWORD, None)
    # An encoding that argon2 can't read would fail early, which reveals that no account exists.
    assert not kept.outdated(kept._dummy)
    assert extract_parameters(kept._dummy) == extract_parameters(await kept.hash(PASSWORD))


@pytest.mark.parametrize("encoded", ["", "!", "$2b$12$abc"])
async def test_malformed_hash_verifies_no_password(encoded: str) -> None:
    assert not await passwords().verify(PASSWORD, encoded)


async def test_overlong_password_is_refused_without_hashing() -> None:
    kept = passwords(at_once=1, waiting=0)
    with occupied(kept):
        assert not await kept.verify("x" * 10_000_000, None)


@contextmanager
def occupied(kept: Passwords) -> Iterator[None]:
    """Occupies all hashing slots."""
    limiter = kept._limiter
    owners = [object() for _ in range(int(limiter.total_tokens))]
    for owner in owners:
        limiter.acquire_on_behalf_of_nowait(owner)
    try:
        yield
    finally:
        for owner in owners:
            limiter.release_on_behalf_of(owner)


async def test_hashes_over_the_queue_limit_are_refused_with_a_retry_time() -> None:
    kept = passwords(at_once=1, waiting=2)
    async with trio.open_nursery() as nursery:
        with occupied(kept):
            for _ in range(3):
                nursery.start_soon(kept.hash, PASSWORD)
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(TooManyAttempts) as refused:
                await kept.verify(PASSWORD, None)
            assert refused.value.retry_after >= 1
    assert not await kept.verify(PASSWORD, None)


async def test_hash_cancelled_while_waiting_frees_its_slot() -> None:
    kept = passwords(at_once=1, waiting=0)
    for _ in range(3):
        with occupied(kept), trio.move_on_after(0) as scope:
            await kept.hash(PASSWORD)
        assert scope.cancelled_caught
    assert await kept.hash(PASSWORD)


async def test_hashes_run_in_threads_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running, maximum, lock = 0, 0, threading.Lock()
    both = threading.Barrier(2, timeout=30)
    hash_once = PasswordHasher.hash

    def counted(self: PasswordHasher, password: str, *, salt: bytes) -> str:
        nonlocal running, maximum
        with lock:
            running += 1
            maximum = max(maximum, running)
        both.wait()
        encoded = hash_once(self, password, salt=salt)
        with lock:
            running -= 1
        return encoded

    monkeypatch.setattr(PasswordHasher, "hash", counted)
    kept = passwords(at_once=2)
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(kept.hash, PASSWORD)
    assert maximum == 2


async def test_sign_in_after_a_cost_change_rehashes(identity: IdentityFixture) -> None:
    made = await identity.account()
    [[before]] = await identity.rows("SELECT password FROM accounts")
    identity.signing_in._passwords = passwords(Argon2(2, 16, 1))
    await identity.signing_in.sign_in(made.account.address, PASSWORD, "", None)
    [[after]] = await identity.rows("SELECT password FROM accounts")
    assert ("t=1" in before, "t=2" in after) == (True, True)
    await identity.signing_in.sign_in(made.account.address, PASSWORD, "", None)
    assert await identity.rows("SELECT password FROM accounts") == [(after,)]
