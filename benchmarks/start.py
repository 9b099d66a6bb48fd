"""How long the commands take to start: until the server listens, and until the help is printed.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``: the median, the fastest and
the slowest of the starts. The first start of each command, which compiles the modules, is left out.

    python benchmarks/start.py [--quick] [--against FOLDER]

``--against`` names another checkout; its starts alternate with those of this one.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The folder of this script has a module named http, which would hide the standard one.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from statistics import median  # noqa: E402

from benchmarks.figures import checkout  # noqa: E402


def octavo(root: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command of the checkout ``root``, compiled modules in use."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OCTAVO_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    return subprocess.Popen(
        [sys.executable, "-m", "octavo", *arguments],
        cwd=root,
        env=environment | {"PYTHONPATH": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def seconds_to_listen(root: Path) -> float:
    """Return the seconds until a server with a new database says that it listens."""
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data"
        began = time.perf_counter()
        with octavo(root, "serve", "--bind", "127.0.0.1:0", "--data-dir", data) as server:
            assert server.stderr is not None
            said = ""
            for line in server.stderr:
                if "listens" in line:
                    break
                said += line
            else:
                raise SystemExit(f"the server did not start:\n{said}")
            taken = time.perf_counter() - began
            server.terminate()
            server.communicate()
    return taken


def seconds_to_help(root: Path) -> float:
    """Return the seconds that ``octavo --help`` takes."""
    began = time.perf_counter()
    with octavo(root, "--help") as command:
        command.communicate()
    return time.perf_counter() - began


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer starts")
    parser.add_argument("--against", type=checkout, help="another checkout, in turn with this one")
    options = parser.parse_args()
    roots = {"": ROOT} | ({} if options.against is None else {"against ": options.against})
    measures: dict[str, Callable[[Path], float]] = {
        "seconds until serve listens": seconds_to_listen,
        "seconds of --help": seconds_to_help,
    }
    for name, measure in measures.items():
        found: dict[str, list[float]] = {each: [] for each in roots}
        for turn in range(4 if options.quick else 12):
            for each, root in roots.items():
                taken = measure(root)
                if turn:
                    found[each].append(taken)
        for each, all_taken in found.items():
            for kind, value in (
                ("median", median(all_taken)),
                ("min", min(all_taken)),
                ("max", max(all_taken)),
            ):
                line = {"name": f"{each}{name}, {kind}", "value": round(value, 3), "unit": "s"}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
