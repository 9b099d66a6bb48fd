"""Imports, exports and uploads of a server: rates and memory.

The server and its worker processes have every core, as the clients do.
"""

from __future__ import annotations

import io
import json
import os
import random
import socket
import statistics
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import trio
from PIL import Image

from benchmarks.figures import report
from benchmarks.http import Service, service
from octavo.features.archives.archive_check import archive_workers
from octavo.workers import WorkerPool

OCTETS = "application/octet-stream"
WORDS = [f"word{number}" for number in range(2000)]
UPLOADS = 64
MEBIBYTE = 1024 * 1024


def notes(count: int) -> Iterator[tuple[str, str]]:
    """Notes of 2 KB with links and code; every second one has wiki links."""
    rng = random.Random(0)
    for number in range(count):
        lines = [f"# Note {number}", "", "```python", f"print({number})", "```", ""]
        while sum(map(len, lines)) < 1900:
            lines += [" ".join(rng.choices(WORDS, k=40)), ""]
        other = rng.randrange(count)
        if number % 2:
            lines += [f"See [[Note {other}|that]] and [[Note {rng.randrange(count)}]]."]
        else:
            lines += [f"See [that](../Topic%20{other % 40}/Note%20{other}.md)."]
        yield f"Topic {number % 40}/Note {number}.md", "\n".join(lines)


def archive_of_notes(file: Path, count: int) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        for path, text in notes(count):
            written.writestr(path, text)


def archive_of_images(file: Path, count: int) -> int:
    """Write ``count`` photographs of about 200 KB; return their bytes."""
    rng = random.Random(0)
    total = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as written:
        small = [Image.frombytes("RGB", (160, 120), rng.randbytes(57_600)) for _ in range(20)]
        for number in range(count):
            picture = small[number % 20].resize((1280, 960), Image.Resampling.BICUBIC)
            picture.putpixel((0, 0), (number % 256, number // 256, 0))
            encoded = io.BytesIO()
            picture.save(encoded, "JPEG", quality=82)
            data = encoded.getvalue() + b"%8d" % number
            total += len(data)
            written.writestr(f"photos/{number}.jpg", data)
    return total


class Caller:
    """Requests of one account."""

    def __init__(self, served: Service) -> None:
        self._served = served

    def send(self, method: str, path: str, body: bytes = b"", kind: str = OCTETS) -> bytes:
        connection = HTTPConnection("127.0.0.1", self._served.port, timeout=900)
        headers = {"authorization": f"Bearer {self._served.key}", "content-type": kind}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        found = response.read()
        connection.close()
        if response.status >= 300:
            raise SystemExit(f"{method} {path} got {response.status}: {found[:300]!r}")
        return found

    def import_of(self, file: Path) -> Callable[[], float]:
        """Send the parts of an archive; return what completes it and gives the seconds."""
        workspace = self._served.workspace()
        self.workspace = f"/api/workspaces/{workspace}"
        started = json.loads(
            self.send("POST", f"{self.workspace}/imports", b"{}", "application/json")
        )
        place = f"{self.workspace}/imports/{started['importId']}"
        with file.open("rb") as source:
            for number in range(1, 10_000):
                part = source.read(started["partSize"])
                if not part:
                    break
                self.send("PUT", f"{place}/parts/{number}", part)

        def complete() -> float:
            began = time.perf_counter()
            self.send("POST", f"{place}/complete")
            return time.perf_counter() - began

        return complete


def export_of(served: Service, workspace: str) -> tuple[float, int]:
    """Read an export, and forget it; return the seconds and its size."""
    began, size = time.perf_counter(), 0
    with socket.create_connection(("127.0.0.1", served.port)) as plain:
        head = f"GET {workspace}/export HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
        plain.sendall(f"{head}authorization: Bearer {served.key}\r\n\r\n".encode())
        while chunk := plain.recv(MEBIBYTE):
            size += len(chunk)
    return time.perf_counter() - began, size


class PeakMemory:
    """The highest resident memory of the server above the present one, in MiB."""

    def __init__(self, served: Service) -> None:
        self._served = served
        self._idle = served.memory()
        self._ended = threading.Event()
        self.peak = 0.0
        self.workers = 0.0
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.02):
            self.peak = max(self.peak, self._served.memory() - self._idle)
            for child in Path(f"/proc/{self._served.pid}/task").glob("*/children"):
                for pid in child.read_text().split():
                    self.workers = max(self.workers, peak_of(int(pid)))


def peak_of(pid: int) -> float:
    """The peak memory of a process in MiB; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


async def alone(file: Path, folder: Path) -> float:
    """Do to the images of an archive what no import can leave out, on the same workers."""
    size = archive_workers(folder).size
    module = extract_and_decode.__module__
    pool = WorkerPool(size, seconds=600, preloaded=[module], folder=file.parent, ahead=False)
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    slices = [names[at : at + 50] for at in range(0, len(names), 50)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        pool.prepare()
        await pool.run(extract_and_decode, str(file), str(folder), names[:1])
        began = time.perf_counter()
        async with trio.open_nursery() as working:
            for each in slices:
                working.start_soon(pool.run, extract_and_decode, str(file), str(folder), each)
        seconds = time.perf_counter() - began
        nursery.cancel_scope.cancel()
    return seconds


def extract_and_decode(file: str, folder: str, names: list[str]) -> int:
    """Read, hash, write durably and decode images; return their number."""
    import hashlib  # noqa: PLC0415 - as a worker process

    with zipfile.ZipFile(file) as archive:
        for name in names:
            data = archive.read(name)
            hashlib.sha256(data).hexdigest()
            with Path(folder, name.replace("/", "-")).open("wb") as written:
                written.write(data)
                written.flush()
                os.fsync(written.fileno())
            with Image.open(io.BytesIO(data)) as image:
                image.load()
    return len(names)


def measure(quick: bool) -> None:
    """Report every figure; each kind of work has servers of its own."""
    count, images, rounds = (2000, 100, 2) if quick else (10_000, 2000, 5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "notes.zip"
        archive_of_notes(file, count)
        imports_of_notes(file, count, rounds)
        with service(None) as served:
            caller = Caller(served)
            caller.import_of(file)()
            time.sleep(2 if quick else 20)
            with PeakMemory(served) as memory:
                times = [export_of(served, caller.workspace)[0] for _ in range(rounds)]
            report(f"export/{count} notes", count / statistics.median(times), "notes/s")
            report("export/notes/memory above idle", memory.peak, "MiB")
        file = folder / "images.zip"
        size = archive_of_images(file, images)
        report("images/bytes", size / MEBIBYTE, "MiB")
        with service(None) as served:
            imports_of_images(served, file, folder, images, 2 if quick else 3)
        with service(None) as served:
            uploads(served, 8 if quick else UPLOADS)


def imports_of_notes(file: Path, count: int, rounds: int) -> None:
    """Import notes to a server without any, and again while those are indexed.

    One more round looks at memory, which takes time from the imports.
    """
    alone: list[float] = []
    indexing: list[float] = []
    for _ in range(rounds):
        with service(None) as served:
            caller = Caller(served)
            alone.append(caller.import_of(file)())
            indexing.append(caller.import_of(file)())
    report(f"import/{count} notes", count / statistics.median(alone), "notes/s")
    report("import/while others are indexed", count / statistics.median(indexing), "notes/s")
    with service(None) as served, PeakMemory(served) as memory:
        Caller(served).import_of(file)()
    report("import/notes/memory above idle", memory.peak, "MiB")
    report("import/notes/memory of a worker", memory.workers, "MiB")


def imports_of_images(served: Service, file: Path, folder: Path, count: int, rounds: int) -> None:
    """Import images, compared with what no import can leave out, and export them."""
    caller = Caller(served)
    ratios: list[float] = []
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        least = trio.run(alone, file, place)
        with PeakMemory(served) as memory:
            taken = caller.import_of(file)()
        ratios.append(least / taken)
        report("import/images", count / taken, "images/s")
    report("import/images/of what is possible", statistics.median(ratios), "ratio")
    report("import/images/memory above idle", memory.peak, "MiB")
    report("import/images/memory of a worker", memory.workers, "MiB")
    with PeakMemory(served) as memory:
        exports = [export_of(served, caller.workspace) for _ in range(rounds)]
    rate = statistics.median(size / MEBIBYTE / seconds for seconds, size in exports)
    report("export/images", rate, "MiB/s")
    report("export/images/memory above idle", memory.peak, "MiB")


def uploads(served: Service, count: int) -> None:
    """Upload images of almost 32 MiB at the same time."""
    pixels = random.Random(1).randbytes(3300 * 3300 * 3)
    encoded = io.BytesIO()
    Image.frombytes("RGB", (3300, 3300), pixels).save(encoded, "PNG", compress_level=0)
    picture = encoded.getvalue()
    workspace = served.workspace()

    def upload(number: int) -> None:
        head = (
            b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n'
            b"content-type: image/png\r\n\r\n"
        )
        body = head + picture + b"%8d" % number + b"\r\n--b--\r\n"
        kind = "multipart/form-data; boundary=b"
        Caller(served).send("POST", f"/api/workspaces/{workspace}/attachments", body, kind)

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(count)]
    began = time.perf_counter()
    with PeakMemory(served) as memory:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    report(f"uploads/{count} at once", time.perf_counter() - began, "s")
    report(f"uploads/{count} at once/memory above idle", memory.peak, "MiB")
    report(f"uploads/{count} at once/memory of a worker", memory.workers, "MiB")
