"""Full disks for a process under test: a tiny file system, or a limit on file sizes."""

import resource
import shutil
import subprocess
from collections.abc import Callable, Sequence

import pytest


def in_tiny_disk(folder: str, kibibytes: int) -> Sequence[str]:
    """Return a command prefix whose command sees a real, tiny disk at ``folder``.

    Only that process and its children see it.
    """
    script = f'mount -t tmpfs -o size={kibibytes}k none "$0" && exec "$@"'
    return ["unshare", "--mount", "--map-root-user", "sh", "-c", script, folder]


def can_mount() -> bool:
    """Whether this machine lets the tests mount a file system for one process."""
    if shutil.which("unshare") is None:
        return False
    probe = [*in_tiny_disk("/mnt", 64), "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


needs_mount = pytest.mark.skipif(not can_mount(), reason="needs the right to mount a file system")


def limit_files(size: int) -> Callable[[], None]:
    """Return a function for ``preexec_fn``: no file of the process grows beyond ``size`` bytes.

    It simulates a disk that fails: a write ends with EFBIG instead of ENOSPC.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit
