"""A server of its own for the demonstration, on a temporary folder."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

PATIENCE = 30.0


@contextmanager
def server() -> Iterator[tuple[str, str]]:
    """Run a server; give its address and the token of its first invitation."""
    with TemporaryDirectory(prefix="octavo-demo-") as name:
        folder = Path(name)
        log = folder / "log"
        command = [sys.executable, "-m", "octavo", "serve", "--bind", "127.0.0.1:0"]
        command += ["--data-dir", str(folder / "data"), "--public-url", "http://localhost"]
        with log.open("wb") as error:
            # In a session of its own: what interrupts the demonstration is not for the server.
            process = subprocess.Popen(
                command, cwd=folder, stderr=error, stdout=error, start_new_session=True
            )
        try:
            url = _told(process, log, r"listens on (http://[0-9.]+:[0-9]+)")
            link = Path(_told(process, log, r"with the link in (\S+)")).read_text()
            yield url, link.partition("invitation=")[2].strip()
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()


def _told(process: subprocess.Popen[bytes], file: Path, pattern: str) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(pattern, file.read_text())
        if found is not None:
            return found[1]
        time.sleep(0.02)
    raise SystemExit(f"the server did not start:\n{file.read_text()}")
