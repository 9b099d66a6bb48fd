"""Hashing and verifying passwords."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
import trio
import trio.testing
from argon2 import PasswordHasher, extract_parameters

from octavo.accounts.argon2id import Argon2, dummy_hash
from octavo.accounts.passwords import Passwords, run_in_process
from octavo.model.accounts.refusal import TooManyAttempts
from tests.fakes.identity_fixture import (
    CHEAP,
    PASSWORD,
    IdentityFixture,
    PredictableSources,
    hash_inline,
)

FOUR_LANES = Argon2(passes=1, memory=32, lanes=4)

T = TypeVar("T")


def passwords(cost: Argon2 = CHEAP, at_once: int = 2, waiting: int = 32) -> Passwords:
    return Passwords(
        new_entropy=PredictableSources().new_entropy,
        cost=cost,
        at_once=at_once,
        waiting=waiting,
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
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    running = trio.CapacityLimiter(at_once)
    done = trio.Event()

    async def held(work: Callable[[], T]) -> T:
        async with running:
            await done.wait()
            return work()

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


@pytest.mark.parametrize("cost", [CHEAP, Argon2(2, 24, 3)])
async def test_missing_account_costs_as_much_as_a_real_one(cost: Argon2) -> None:
    kept = passwords(cost)
    assert not await kept.verify(PASSWORD, None)
    # An encoding that argon2 can't read would fail early, which reveals that no account exists.
    dummy = dummy_hash(cost)
    assert not kept.outdated(dummy)
    assert extract_parameters(dummy) == extract_parameters(await kept.hash(PASSWORD))


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


async def test_retry_time_is_that_of_the_hashes_which_wait(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(work: Callable[[], T]) -> T:
        await trio.sleep(3)
        return work()

    kept = Passwords(
        new_entropy=PredictableSources().new_entropy, cost=CHEAP, at_once=2, waiting=4, run=slow
    )
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
    async def stalled(work: Callable[[], T]) -> T:
        await trio.sleep(1_000)
        return work()

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

    async def counted(work: Callable[[], T]) -> T:
        nonlocal running, maximum
        running += 1
        maximum = max(maximum, running)
        await trio.testing.wait_all_tasks_blocked()
        running -= 1
        return work()

    kept = Passwords(
        new_entropy=PredictableSources().new_entropy, cost=CHEAP, at_once=2, run=counted
    )
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(kept.hash, PASSWORD)
    assert maximum == 2


async def test_running_hash_is_not_interrupted() -> None:
    with trio.move_on_after(0.05) as scope:
        await run_in_process(partial(os.system, "sleep 0.2"))
    assert not scope.cancelled_caught


def scheduling() -> tuple[int, int, int]:
    return os.getpid(), os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="scheduling policies are those of Linux")
async def test_hashes_have_the_lowest_priority_and_nothing_else() -> None:
    ours = scheduling()
    process, policy, _ = await run_in_process(scheduling)
    assert (process == os.getpid(), policy) == (False, os.SCHED_IDLE)
    assert scheduling() == ours
    assert ours[1] == os.SCHED_OTHER
    # The process is kept for the next hash.
    assert (await run_in_process(scheduling))[0] == process


async def test_hash_in_a_process_is_verified() -> None:
    kept = Passwords(new_entropy=PredictableSources().new_entropy, cost=CHEAP)
    encoded = await kept.hash(PASSWORD)
    assert await kept.verify(PASSWORD, encoded)
    assert not await kept.verify(f"{PASSWORD}!", encoded)


async def test_hash_survives_the_end_of_its_process() -> None:
    before = await run_in_process(os.getpid)
    os.kill(before, signal.SIGKILL)
    assert await run_in_process(os.getpid) != before


def end_first_process(marker: str) -> str:
    """Ends the process that comes here first."""
    with suppress(FileExistsError):
        Path(marker).touch(exist_ok=False)
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


async def test_hash_whose_process_is_killed_is_computed_again(tmp_path: Path) -> None:
    job = partial(end_first_process, str(tmp_path / "marker"))
    assert await run_in_process(job) == "done"


async def test_signal_that_stops_the_server_leaves_a_running_hash() -> None:
    # A service manager sends it to all processes of the service.
    process = await run_in_process(os.getpid)
    os.kill(process, signal.SIGTERM)
    assert await run_in_process(os.getpid) == process


HASHING = """
import os, trio
from octavo.accounts.passwords import run_in_process

async def main():
    print(await run_in_process(os.getpid), flush=True)
    await trio.sleep_forever()

trio.run(main)
"""


def test_process_ends_with_the_server_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", HASHING], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        process = int(server.stdout.readline())
        assert alive(process)
        server.kill()
    deadline = time.monotonic() + 30
    while alive(process):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def test_sign_in_after_a_cost_change_rehashes(identity: IdentityFixture) -> None:
    made = await identity.account()
    [[before]] = await identity.rows("SELECT password FROM accounts")
    identity.signing_in._passwords = passwords(Argon2(2, 16, 1))
    await identity.signing_in.sign_in(made.account.address, PASSWORD, "", None)
    [[after]] = await identity.rows("SELECT password FROM accounts")
    assert ("t=1" in before, "t=2" in after) == (True, True)
    await identity.signing_in.sign_in(made.account.address, PASSWORD, "", None)
    assert await identity.rows("SELECT password FROM accounts") == [(after,)]
