"""Serve, and count the Python functions that are called meanwhile, in all threads, by room.

    python -m benchmarks.servers.counted FILE (octavo | floor) ARGUMENT…

It runs ``octavo`` or `benchmarks/servers/floor.py` with the arguments. SIGUSR1 writes the counts
since the last one into FILE, as JSON. A task that goes on calls each of its functions again: that
counts, too.
"""

import json
import os
import signal
import sys
import sysconfig
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

ROOT = f"{Path(__file__).parents[2]}{os.sep}"
LIBRARIES = f"{ROOT}packages{os.sep}"
PACKAGES = f"{sysconfig.get_paths()['purelib']}{os.sep}"


class Counts:
    """The calls of the functions of each room: a folder of Octavo, or a package."""

    def __init__(self) -> None:
        # Each thread changes one of its own.
        self._of_threads: dict[int, dict[CodeType, int]] = {}

    def begin(self) -> None:
        """Count in this thread, and in each that is started from now on."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            found = self._of_threads.get(threading.get_ident())
            if found is None:
                found = self._of_threads[threading.get_ident()] = {}
            code = frame.f_code
            found[code] = found.get(code, 0) + 1

    def taken(self) -> dict[str, dict[str, int]]:
        """Return the counts by room and by function, and begin anew."""
        # What counts is not counted.
        counting = sys.getprofile()
        sys.setprofile(None)
        rooms: dict[str, Counter[str]] = {}
        for found in list(self._of_threads.values()):
            for code, count in list(found.items()):
                room, function = _place(code)
                rooms.setdefault(room, Counter())[function] += count
            found.clear()
        sys.setprofile(counting)
        return {room: dict(found) for room, found in sorted(rooms.items())}


def _place(code: CodeType) -> tuple[str, str]:
    """The room of a function, and its name."""
    path = code.co_filename
    name = f"{path.removeprefix(ROOT).removeprefix(PACKAGES)}:{code.co_qualname}"
    if path.startswith(PACKAGES):
        return path.removeprefix(PACKAGES).partition(os.sep)[0], name
    if path.startswith(LIBRARIES):
        # packages/greenroom/src/greenroom/…
        return path.removeprefix(LIBRARIES).split(os.sep)[2], name
    if path.startswith(f"{ROOT}octavo{os.sep}"):
        parts = path.removeprefix(ROOT).split(os.sep)
        return "/".join(parts[: max(2, min(3, len(parts) - 1))]), name
    return "python", name


def main() -> None:
    file, program, arguments = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    counts = Counts()

    def write(number: int, frame: FrameType | None) -> None:
        found = json.dumps(counts.taken())
        partial = file.with_suffix(".partial")
        partial.write_text(found)
        partial.rename(file)

    signal.signal(signal.SIGUSR1, write)
    # The signal comes first.
    import trio  # noqa: PLC0415

    from benchmarks.servers import floor  # noqa: PLC0415
    from octavo.cli.main import main as octavo  # noqa: PLC0415

    counts.begin()
    if program == "floor":
        trio.run(floor.main, arguments[0])
    else:
        octavo(arguments)


if __name__ == "__main__":
    main()
