"""Attempts to sign in, and the limit of them: so many at once, and then one in each share of time.

Written from the documentation, and independent of `octavo.model.access.account`: it compares
all attempts of a run with each other instead of keeping one number.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

import trio
from greenroom.testing import note

from octavo.features.accounts.rules.refusal import InvalidCredentials
from octavo.model.access.account import TooManyAttempts
from octavo.store import StoreUnavailable

MOST = 10
"""Attempts at one address in one process that are admitted at once."""
SHARE = 30.0
"""Seconds after which one more is admitted."""
ROUNDED = 1.0
"""Seconds by which the time to wait may be rounded up."""

R = TypeVar("R")


class Guess(NamedTuple):
    """An attempt to sign in.

    Attributes:
        process: which incarnation of a process was asked, each of which counts for itself.
        address: the address.
        at: when.
        verdict: whether the password was looked at; "unknown" if that was not learned, although the
            attempt was counted.
        wait: the seconds after which a refused one may be repeated.
    """

    process: object
    address: str
    at: float
    verdict: Literal["admitted", "refused", "unknown"]
    wait: float = 0.0


async def recorded(
    guesses: list[Guess], process: object, address: str, attempt: Callable[[], Awaitable[R]]
) -> R:
    """Attempt to sign in, and record what becomes of it."""
    at, guess = trio.current_time(), len(guesses)
    guesses.append(Guess(process, address, at, "unknown"))

    def learn(verdict: Literal["admitted", "refused"], wait: float = 0.0) -> None:
        guesses[guess] = guesses[guess]._replace(verdict=verdict, wait=wait)
        note(f"an attempt at {address}: {verdict}", address)

    try:
        done = await attempt()
    except TooManyAttempts as refusal:
        learn("refused", refusal.retry_after)
        raise
    except InvalidCredentials:
        learn("admitted")
        raise
    learn("admitted")
    return done


async def guess_many(
    guesses: list[Guess],
    process: object,
    address: str,
    attempt: Callable[[], Awaitable[object]],
    number: int,
) -> None:
    """Make some attempts at once, whatever becomes of each."""

    async def guess() -> None:
        try:
            await recorded(guesses, process, address, attempt)
        except (InvalidCredentials, TooManyAttempts, StoreUnavailable):
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for _ in range(number):
            nursery.start_soon(guess)


def faults_of_guesses(guesses: Sequence[Guess]) -> Iterator[str]:
    """Return where more attempts were admitted than may be, or one was refused without need."""
    groups: defaultdict[tuple[int, str], list[Guess]] = defaultdict(list)
    for each in guesses:
        groups[id(each.process), each.address].append(each)
    for (_, address), group in groups.items():
        for number, last in enumerate(group):
            earlier = group[:number]
            if last.verdict == "admitted":
                certain = [each for each in earlier if each.verdict == "admitted"]
                if _exceeds(certain, last.at, 1):
                    yield f"more attempts at {address} were admitted at {last.at:.1f} s than may be"
            elif last.verdict == "refused":
                possible = [each for each in earlier if each.verdict != "refused"]
                if not _exceeds(possible, last.at, 1):
                    yield f"an attempt at {address} was refused at {last.at:.1f} s without need"
                elif _exceeds(possible, last.at + last.wait, 1):
                    yield f"an attempt at {address} was told to wait too short at {last.at:.1f} s"
                elif not 0 < last.wait <= SHARE + ROUNDED:
                    yield f"an attempt at {address} was told to wait for {last.wait:g} s"


def _exceeds(admitted: Sequence[Guess], at: float, more: int) -> bool:
    """Return whether ``more`` attempts at a time are too many after those that were admitted."""
    return any(
        len(admitted) - first + more > MOST + (at - since.at) / SHARE + 1e-3
        for first, since in enumerate(admitted)
    )
