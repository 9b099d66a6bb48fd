"""Confine this process to what its work needs: by Landlock, where the kernel offers it.

Landlock (Linux 5.13; https://docs.kernel.org/userspace-api/landlock.html) has no functions in the C
library, so its system calls are made by number. It grants files by the folders that they are in;
whatever is open stays usable. A process can't take a confinement back, and its children inherit it.

This module imports the standard library alone: worker processes import it.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

_MACHINES = frozenset(("x86_64", "aarch64"))
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_SET_NO_NEW_PRIVILEGES = 38

# Rights on files, by the version of Landlock that knows them.
_WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << n for n in (1, 2, 3, 4, 5))
_MAKE_DIR, _MAKE_REG, _TRUNCATE = 1 << 7, 1 << 8, 1 << 14
_READ = _READ_FILE | _READ_DIR
_CHANGE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
_KNOWN_FILE_RIGHTS = ((1, 13), (2, 14), (3, 15), (5, 16))
_NETWORK_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _ABSTRACT_SOCKETS_AND_SIGNALS = 6, 0b11


def landlock_version() -> int:
    """Return the version of Landlock that the kernel offers; 0 for none."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return 0
    version = int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))
    return max(0, version)


def confinements() -> list[str]:
    """Return what this system can confine worker processes by, for people."""
    version = landlock_version()
    return [
        "limits",
        *(["no new privileges"] if sys.platform == "linux" else []),
        f"Landlock (version {version} of its interface)" if version else "no Landlock",
    ]


def forbid_new_privileges() -> bool:
    """Make programs that this process executes gain nothing, such as by set-user-id.

    Returns whether the system can do that.
    """
    if sys.platform != "linux":
        return False
    # As a variadic function, prctl takes what it reads as longs.
    rest = map(ctypes.c_ulong, (1, 0, 0, 0))
    return not _libc().prctl(_SET_NO_NEW_PRIVILEGES, *rest)


def confine(readable: Iterable[str], changeable: Iterable[str]) -> int:
    """Confine this thread, and those that it starts, by Landlock; return the version of it.

    Files can be opened only in the folders ``readable`` and ``changeable``, and created and changed
    only in the latter; missing folders are ignored, and nothing can be executed. From version 4 on,
    no TCP connection can be made or accepted; from version 6 on, no process outside can be sent a
    signal, or reached by an abstract socket. Without Landlock nothing happens. Call
    `forbid_new_privileges` first. Raises OSError.
    """
    version = landlock_version()
    if not version:
        return 0
    handled = (1 << max(bits for since, bits in _KNOWN_FILE_RIGHTS if since <= version)) - 1
    attributes = struct.pack("=Q", handled)
    if version >= _NETWORK_SINCE:
        attributes += struct.pack("=Q", _TCP)
    if version >= _SCOPES_SINCE:
        attributes += struct.pack("=Q", _ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for rights, folders in ((_READ, readable), (_CHANGE, changeable)):
            for folder in folders:
                _grant(ruleset, folder, rights & handled)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _grant(ruleset: int, folder: str, rights: int) -> None:
    try:
        opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result
