"""The cost of imports and exports, of a server and without a database, and of uploads.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. Without a database, an import
is its survey and its checks in two worker processes, by the clock; memory is the peak of a process
that does all the steps, after its imports. Those of a server are in `benchmarks.served_archives`,
and those of other people who save meanwhile in `benchmarks.archive_bystanders`.

    python benchmarks/archives.py [--quick] [--only workers|server|others]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The folder of this script has a module named http, which would hide the standard one.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import random  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
import zipfile  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from functools import partial  # noqa: E402

import trio  # noqa: E402

from benchmarks import archive_bystanders, served_archives  # noqa: E402
from octavo.features.archives.worker import note_check, survey  # noqa: E402
from octavo.features.archives.worker.checked_files import checked_notes  # noqa: E402
from octavo.features.archives.worker.selection import ExportLayout  # noqa: E402
from octavo.features.archives.worker.survey import ArchiveLimits, SurveyResult  # noqa: E402
from octavo.features.archives.worker.zip_writer import ZipWriter  # noqa: E402
from octavo.workers import WorkerPool  # noqa: E402

LIMITS: ArchiveLimits = {"entries": 200_000, "total": 1 << 33, "note": 1 << 21, "image": 1 << 25}
LINKS = 3
WORDS = [f"word{number}" for number in range(2000)]

MEASURE = """
import json, sys
from pathlib import Path
from octavo.features.archives.worker.note_check import check_notes
from octavo.features.archives.worker.survey import survey
def peak():
    # Unlike ru_maxrss, it has nothing of the process that started this one.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])
before = peak()
archive, folder, limits = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
found = survey([archive], folder, limits)
surveyed = peak()
for each in found["note_slices"]:
    check_notes([archive], folder, *each)
print(before, surveyed, peak())
"""


def report(name: str, value: float, unit: str) -> None:
    figure = {"name": name, "value": round(value, 3), "unit": unit}
    print(json.dumps(figure, ensure_ascii=False), flush=True)


def texts(count: int, size: int = 2000) -> Iterator[bytes]:
    """Notes of about ``size`` bytes; every second one has wiki links."""
    rng = random.Random(0)
    for number in range(count):
        lines = [f"# Note {number}", ""]
        links = LINKS if number % 2 else 0
        while sum(map(len, lines)) < size:
            lines += [" ".join(rng.choices(WORDS, k=40)), ""]
            if links:
                lines[-2] += f" [[Note {rng.randrange(count)}|label]]"
                links -= 1
        yield "\n".join(lines).encode()


def path_of(number: int, length: int) -> str:
    folder = f"Folder {number % 40}/Topic {number % 7}"
    if length:
        folder = "/".join(f"{number % 97:099}" for _ in range(length // 100))
    return f"{folder}/Note {number}.md"


def archive(file: Path, count: int, *, size: int = 2000, length: int = 0) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        for number, text in enumerate(texts(count, size)):
            written.writestr(path_of(number, length), text)


async def run_import(pool: WorkerPool, parts: list[str], folder: str) -> tuple[float, float]:
    """Survey an archive and check its notes; return the seconds of both."""
    begun = time.perf_counter()
    found: SurveyResult = await pool.run(survey.survey, parts, folder, LIMITS)
    surveyed = time.perf_counter()
    files: dict[int, str] = {}

    async def check(begin: int, end: int) -> None:
        files[begin], _ = await pool.run(note_check.check_notes, parts, folder, begin, end)

    async with trio.open_nursery() as nursery:
        for begin, end in found["note_slices"]:
            nursery.start_soon(check, begin, end)
    checked = time.perf_counter()
    assert sum(1 for _ in checked_notes([files[each] for each in sorted(files)])) == found["notes"]
    return surveyed - begun, checked - surveyed


async def bench_import(count: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "archive.zip")
        archive(file, count)
        pool = WorkerPool(2, seconds=60, preloaded=[survey.__name__, note_check.__name__])
        times = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.serve)
            for number in range(rounds + 1):
                place = tempfile.mkdtemp(dir=folder, prefix=str(number))
                times.append(await run_import(pool, [str(file)], place))
            nursery.cancel_scope.cancel()
        # The first round starts the processes.
        survey_time, check_time = min(times[1:], key=sum)
        report(f"survey_{count}_notes", survey_time, "s")
        report(f"check_{count}_notes", check_time, "s")
        report(f"import_{count}_notes", count / (survey_time + check_time), "1/s")


def bench_memory(count: int) -> None:
    for name, length in (("", 0), ("_of_long_paths", 900)):
        with tempfile.TemporaryDirectory() as folder:
            file, place = Path(folder, "archive.zip"), Path(folder, "import")
            place.mkdir()
            archive(file, count, size=200, length=length)
            run = [sys.executable, "-c", MEASURE, str(file), str(place), json.dumps(LIMITS)]
            printed = subprocess.check_output(run, text=True)
            before, surveyed, checked = (int(each) / 1024 for each in printed.split())
            report(f"survey_memory_{count}_notes{name}", surveyed, "MiB")
            report(f"memory_{count}_notes{name}", checked, "MiB")
            report(f"memory_of_imports{name}", before, "MiB")


def bench_export(count: int, rounds: int) -> None:
    for size in (500, 2000):
        notes = [(f"{number}.md", text[:size]) for number, text in enumerate(texts(count, size))]
        report(f"zip_writer_{size}_bytes", count / best(rounds, partial(write, notes)), "1/s")
        report(f"zipfile_{size}_bytes", count / best(rounds, partial(by_zipfile, notes)), "1/s")


def write(notes: list[tuple[str, bytes]]) -> int:
    writer = ZipWriter(ExportLayout())
    return sum(len(writer.note(*each)) for each in notes) + len(writer.end())


class Stream(io.RawIOBase):
    """A file that can't seek, as the body of a response."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return len(data) if isinstance(data, bytes) else 0


def by_zipfile(notes: list[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(Stream(), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as written:
        for path, text in notes:
            written.writestr(zipfile.ZipInfo(path), text, zipfile.ZIP_DEFLATED, 1)


def best(rounds: int, work: Callable[[], object]) -> float:
    """The minimum processor time of several rounds, in seconds."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="less work, under 20 seconds")
    parser.add_argument("--only", choices=("workers", "server", "others"), help="one group")
    given = parser.parse_args()
    quick = given.quick
    if given.only in (None, "server"):
        served_archives.measure(quick)
    if given.only in (None, "others"):
        archive_bystanders.measure(quick)
    if given.only in ("server", "others"):
        return
    trio.run(bench_import, 2000 if quick else 10_000, 2 if quick else 5)
    bench_memory(5000 if quick else 100_000)
    bench_export(2000 if quick else 10_000, 3)


if __name__ == "__main__":
    main()
