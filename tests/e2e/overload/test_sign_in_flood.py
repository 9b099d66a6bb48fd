"""Strangers who try passwords from many addresses don't keep a person from signing in."""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException

from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.overload.report import record
from tests.e2e.overload.table import LONG_SECONDS
from tests.e2e.people import PASSWORD, join, settle
from tests.e2e.server import OCTAVO, PATIENCE

ATTACKERS = 48
"""Addresses, each with one connection; from each, 60 attempts are admitted."""
TRIES = 9 if LONG_SECONDS else 3
"""Attempts with the right password; a known browser has 10."""
PAUSE = 0.01 if LONG_SECONDS else 0.25
"""Seconds between two attempts of a connection. Refusals are cheap, and thousands of them a second
leave no processor to the hashes while other tests run."""
LONGEST = 15.0
"""Seconds of one; the hashes have the lowest priority on a busy machine."""
OWN_BROWSERS = 4
"""Known browsers of each of two people, who have at most two places of one hash at a time each."""
CONNECTIONS = 8
"""Concurrent attempts with each of them."""


class _Browser:
    """Signs in from one address, and keeps the cookie by which it is recognized, if it may."""

    def __init__(self, octavo: Octavo, client: str, *, keeps: bool = True) -> None:
        self._keeps = keeps
        self._connection = HTTPConnection(
            "127.0.0.1", octavo.port, timeout=PATIENCE, source_address=(client, 0)
        )
        self.device = ""

    def sign_in(self, address: str, password: str) -> int:
        """Return the status of an attempt."""
        headers = {"content-type": "application/json", "origin": PUBLIC}
        if self.device:
            headers["cookie"] = self.device
        body = json.dumps({"email": address, "password": password})
        self._connection.request("POST", "/api/auth/sign-in/email", body, headers)
        response = self._connection.getresponse()
        response.read()
        for cookie in response.headers.get_all("set-cookie", []):
            if self._keeps and cookie.startswith("__Host-octavo-device="):
                self.device = cookie.partition(";")[0]
        return response.status

    def abort(self) -> None:
        """Give up the request that waits, in another thread, and all further ones."""
        self._connection.auto_open = 0
        # The other thread may close it meanwhile.
        waiting = self._connection.sock
        if waiting is not None:
            with suppress(OSError):
                waiting.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


Choose = Callable[[int, int], str]
"""Returns the address that a browser tries, by the numbers of the browser and the attempt."""


@contextmanager
def _flood(browsers: Sequence[_Browser], address: Choose) -> Iterator[Counter[int]]:
    """Try passwords, so that the hashes are busy."""
    statuses: Counter[int] = Counter()
    ended, busy = threading.Event(), threading.Event()

    def attack(number: int, browser: _Browser) -> None:
        for attempt in range(10_000):
            tried = address(number, attempt)
            try:
                status = browser.sign_in(tried, "not the password")
            except (OSError, HTTPException):
                status = 0
            statuses[status] += 1
            if status == 429:
                busy.set()
            if ended.wait(PAUSE):
                break
        browser.close()

    threads = [threading.Thread(target=attack, args=given) for given in enumerate(browsers)]
    for thread in threads:
        thread.start()
    try:
        assert busy.wait(PATIENCE)
        yield statuses
    finally:
        ended.set()
        for browser in browsers:
            browser.abort()
        for thread in threads:
            thread.join()


def test_known_browser_signs_in_while_strangers_try_passwords_of_its_address() -> None:
    with data_folder() as folder, running(folder, program=OCTAVO) as octavo:
        ann = settle(octavo)
        known, unknown = _Browser(octavo, "127.0.0.9"), _Browser(octavo, "127.0.0.10", keeps=False)
        with closing(known), closing(unknown):
            assert known.sign_in(ann.address, PASSWORD) == 200
            found: list[int] = []
            times: list[float] = []
            strangers = [_Browser(octavo, f"127.0.1.{number + 1}") for number in range(ATTACKERS)]

            def hers_or_another(number: int, attempt: int) -> str:
                return ann.address if (attempt + number) % 2 else f"a{number}-{attempt}@example.org"

            with _flood(strangers, hers_or_another) as statuses:
                for _ in range(TRIES):
                    begun = time.monotonic()
                    found.append(known.sign_in(ann.address, PASSWORD))
                    times.append(time.monotonic() - begun)
                # Without the cookie, her attempts are those of anybody, of which few are admitted.
                others = (unknown.sign_in(ann.address, PASSWORD) for _ in range(11))
                assert 429 in others
        if LONG_SECONDS:
            record(
                "sign-in flood",
                {
                    "saves p50": round(1000 * sorted(times)[len(times) // 2]),
                    "saves max": round(1000 * max(times)),
                    "refused": sum(status != 200 for status in found),
                },
            )
    assert found == [200] * TRIES
    assert max(times) < LONGEST
    # The queue of hashes was full, and attempts were made.
    assert statuses[429] > statuses[401] > 0


def test_known_browser_signs_in_while_others_fill_the_queue_with_browsers_of_their_own() -> None:
    with data_folder() as folder, running(folder, program=OCTAVO) as octavo:
        ann = settle(octavo)
        people = [join(folder), join(folder)]
        with closing(_Browser(octavo, "127.0.0.9")) as known:
            assert known.sign_in(ann.address, PASSWORD) == 200
            browsers: list[_Browser] = []
            for number in range(len(people) * OWN_BROWSERS):
                client = f"127.0.1.{number + 1}"
                with closing(_Browser(octavo, client)) as own:
                    assert own.sign_in(people[number % 2].address, PASSWORD) == 200
                    for _ in range(CONNECTIONS):
                        browsers.append(_Browser(octavo, client, keeps=False))
                        browsers[-1].device = own.device
            addresses = [
                people[number % 2].address
                for number in range(len(people) * OWN_BROWSERS)
                for _ in range(CONNECTIONS)
            ]
            found = Counter[int]()
            flooded = time.monotonic()
            with _flood(browsers, lambda number, _: addresses[number]) as statuses:
                for _ in range(TRIES):
                    found[known.sign_in(ann.address, PASSWORD)] += 1
            flooded = time.monotonic() - flooded
    assert found == {200: TRIES}
    # They were refused for what they did at once, or too often, and were not strangers.
    assert statuses[429] > statuses[401] > 0
    assert statuses[401] <= len(people) * (30 + flooded / 10 + 1)
