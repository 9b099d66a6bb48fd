"""Whoever searches on many connections delays the searches of others by few of them."""

import threading
import time
from collections.abc import Callable
from http.client import HTTPException

from tests.e2e.octavo_process import data_folder, running
from tests.e2e.overload.bystander import mutation
from tests.e2e.people import Person, client, join, settle

NOTES = 450
CONNECTIONS = 100
ATTEMPTS = 3
OF_OTHERS, MOST_ROUNDS = 20, 200
"""How many searches of the others have to end meanwhile, and within how many of the person."""
WORDS = (
    *("green", "black", "white", "tea", "kettle", "water", "leaf", "cup"),
    *("steam", "garden", "morning", "evening", "river"),
)


def vault(url: str, person: Person) -> str:
    """Make a workspace with many notes; return the path of its search."""
    with client(url, person) as http:
        place = f"/api/workspaces/{http.post('/api/workspaces', json={'name': 'Own'}).json()['id']}"
        operations = [
            {
                "op": "create",
                "fileId": mutation(),
                "path": f"{number}.md",
                "text": " ".join(WORDS[(number * step) % len(WORDS)] for step in range(400)),
            }
            for number in range(NOTES)
        ]
        changed = {"mutationId": mutation(), "operations": operations}
        made = http.post(f"{place}/changesets", json=changed)
        assert made.is_success, made.text
    return f"{place}/search?q=tea+kettle"


def median_of(
    url: str, person: Person, path: str, rounds: int, enough: Callable[[], bool] = lambda: True
) -> float:
    """The median time of the searches of ``person``, in seconds: so many, and until ``enough``."""
    taken: list[float] = []
    with client(url, person) as http:
        while len(taken) < rounds or not enough():
            assert len(taken) < MOST_ROUNDS
            began = time.monotonic()
            found = http.get(path, timeout=60)
            taken.append(time.monotonic() - began)
            assert found.status_code == 200, found.text
            assert found.json()["items"]
    return sorted(taken)[len(taken) // 2]


def waits() -> tuple[float, float]:
    """The median time of a search, alone and while another account searches all the time."""
    ended, finished = threading.Event(), list[int]()
    with data_folder() as folder, running(folder) as octavo:
        quiet, busy = settle(octavo), join(folder)
        paths = {person: vault(octavo.url, person) for person in (quiet, busy)}

        def search() -> None:
            with client(octavo.url, busy) as http:
                while not ended.is_set():
                    try:
                        status = http.get(paths[busy], timeout=60).status_code
                    except (OSError, HTTPException):
                        return
                    assert status in (200, 503), status
                    finished.append(status)

        alone = median_of(octavo.url, quiet, paths[quiet], 5)
        threads = [threading.Thread(target=search) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(1)
            among = median_of(octavo.url, quiet, paths[quiet], 9, lambda: len(finished) > OF_OTHERS)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        return alone, among


def test_search_waits_for_few_of_another_account() -> None:
    for _ in range(ATTEMPTS):
        alone, among = waits()
        if among < 10 * alone + 0.05:
            break
    assert among < 10 * alone + 0.05, (alone, among)
