"""What the restoration of a workspace takes over HTTP, and the saves of others meanwhile.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``, the median of the rounds. The
server has one core, the client another. Of the notes of 2 KB, half got another text since the
moment, a quarter was moved, and a quarter deleted.

    python benchmarks/restorations.py [--quick]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The folder of this script has a module named http, which would hide the standard one.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import os  # noqa: E402
import statistics  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import uuid  # noqa: E402
from collections import defaultdict  # noqa: E402
from typing import Any  # noqa: E402

from benchmarks.clients.raw import load  # noqa: E402
from benchmarks.figures import report  # noqa: E402
from benchmarks.http import Service, saving, service  # noqa: E402
from benchmarks.links import with_links  # noqa: E402

FILES = (500, 10_000)
CHANGESET = 500
BYSTANDING = 6.0
"""Seconds in which another person saves while a workspace is restored."""
Figures = dict[str, list[float]]


def changed_vault(served: Service, count: int) -> tuple[str, int]:
    """Create notes, and change all of them; return the workspace, and the position between."""
    workspace = served.workspace()
    base = f"/api/workspaces/{workspace}"
    notes = [
        {"op": "create", "fileId": str(uuid.uuid4()), "path": path, "text": text}
        for path, text in with_links(count)
    ]
    made = push(served, base, notes)
    position = int(served.ask("GET", f"{base}/feed?limit=1")["position"])
    push(served, base, [change(number, each) for number, each in enumerate(made)])
    # Links and words are indexed in the background.
    time.sleep(2 if count <= CHANGESET else 20)
    return workspace, position


def push(served: Service, base: str, operations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for at in range(0, len(operations), CHANGESET):
        body = {"mutationId": str(uuid.uuid4()), "operations": operations[at : at + CHANGESET]}
        made += served.ask("POST", f"{base}/changesets", body)["changes"]
    return made


def change(number: int, made: dict[str, Any]) -> dict[str, Any]:
    """Return the operation that changes a note."""
    file = {"fileId": made["fileId"], "ifMatch": made["revision"]["id"]}
    if number % 4 == 0:
        return {"op": "delete", **file}
    if number % 4 == 1:
        return {"op": "update", **file, "path": f"moved/{made['path']}"}
    return {"op": "update", **file, "text": f"# Changed {number}\n"}


def restore(served: Service, workspace: str, position: int) -> dict[str, Any]:
    """Restore, and wait for the end."""
    place = f"/api/workspaces/{workspace}/restorations"
    found = served.ask("POST", place, {"position": position})
    while found["state"] == "running":
        time.sleep(0.02)
        found = served.ask("GET", f"{place}/{found['restorationId']}")
    if found["state"] != "done" or found["done"] != found["total"] or found["leftCount"]:
        raise SystemExit(f"the restoration ended as {found}")
    return found


def measure(served: Service, figures: Figures, count: int) -> None:
    workspace, position = changed_vault(served, count)
    began = time.perf_counter()
    place = f"/api/workspaces/{workspace}/restorations/preview?position={position}"
    served.ask("GET", place)
    figures[f"preview/{count} files\tms"].append((time.perf_counter() - began) * 1000)
    began = time.perf_counter()
    found = restore(served, workspace, position)
    figures[f"restoration/{count} files\ts"].append(time.perf_counter() - began)
    changesets = found["positionAfter"] - found["positionBefore"]
    figures[f"restoration/{count} files/changesets\tchangesets"].append(changesets)
    began = time.perf_counter()
    restore(served, workspace, found["positionBefore"])
    figures[f"its undo/{count} files\ts"].append(time.perf_counter() - began)


def bystander(served: Service, figures: Figures, count: int) -> None:
    """Save a note of another workspace meanwhile."""
    workspace, position = changed_vault(served, count)
    other = served.workspace()
    writer = saving(served, other, *served.note(other, "note"))
    restoring = threading.Thread(target=restore, args=(served, workspace, position))
    restoring.start()
    found = load(served.port, [writer], BYSTANDING)
    restoring.join()
    name = f"saves of another during a restoration/{count} files"
    figures[f"{name}/p50\tms"].append(found.percentile(50))
    figures[f"{name}/p99\tms"].append(found.percentile(99))
    figures[f"{name}/slowest\tms"].append(found.percentile(100))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})
    figures: Figures = defaultdict(list)
    for _ in range(1 if arguments.quick else 3):
        for count in FILES:
            with service(cores[0]) as served:
                measure(served, figures, count)
                bystander(served, figures, count)
    for figure, values in figures.items():
        name, unit = figure.split("\t")
        report(name, statistics.median(values), unit)


if __name__ == "__main__":
    main()
