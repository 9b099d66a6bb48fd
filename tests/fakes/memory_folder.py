"""A folder in memory for the temporary files of a test run.

A disk takes milliseconds for each of the many thousand commits. No test needs one: what a process
has written to a file survives when it is killed, synced or not.
"""

import os
import shutil
import tempfile
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
ENOUGH = 4 * 1024**3
"""Free bytes, more than the tests need. Containers often have only 64 MiB."""


def use_memory_folder() -> Path | None:
    """Let this process and its children make temporary files in a new folder in memory.

    Returns None, and does nothing, if there is little memory, or if ``TMPDIR`` names a folder.
    """
    if "TMPDIR" in os.environ or not SHARED_MEMORY.is_dir():
        return None
    if shutil.disk_usage(SHARED_MEMORY).free < ENOUGH:
        return None
    folder = Path(tempfile.mkdtemp(prefix="octavo-tests-", dir=SHARED_MEMORY))
    # The PostgreSQL server of the tests may run as another user.
    folder.chmod(0o711)
    os.environ["TMPDIR"] = str(folder)
    # Where it was computed before.
    tempfile.tempdir = None
    return folder
