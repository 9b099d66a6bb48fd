"""The program of a worker process: it calls functions for the server, one at a time.

A request and its response are lines of JSON. The program imports only the standard library, so that
a process starts fast; the functions bring what they need. Its argument is JSON: where to search for
modules, and the arguments of `main`.

The process is confined as far as the system can (`octavo.confinement`): it reads programs and
libraries, and changes files in one folder at most.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

MAX_OPEN_FILES = 64
"""Files that the work has open at the same time, with those of a module that is imported."""
MAX_FILE_SIZE = 8 * 1024**3
"""Bytes of a file; one of an import has a line for each of up to a million entries."""
# Where the libraries of extension modules are.
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_SITES = ("site-packages", "dist-packages")


def main(
    preloaded: Sequence[str],
    max_memory: int | None = None,
    max_seconds: int | None = None,
    folder: str | None = None,
    threads: bool = False,
) -> None:
    """Serve requests until the server closes the pipe, or ends.

    ``preloaded`` are modules to import first: a new version that is installed meanwhile does not
    mix with the one that runs. ``max_memory`` limits the address space in bytes, ``max_seconds``
    the processor time of each request: the system kills a process that exceeds it. ``folder`` is
    the only one whose files the functions may use, and ``threads`` says whether they start some.
    """
    # It is found only after the search path was set.
    from octavo.confinement import confine, forbid_new_privileges  # noqa: PLC0415

    _lower_priority()
    # Only the owner can read what functions write, whatever the umask of the server is.
    os.umask(0o077)
    if max_memory is not None:
        _limit(resource.RLIMIT_AS, max_memory)
    # Crafted data may crash a decoder: its memory is of no use to anybody.
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    _limit(resource.RLIMIT_FSIZE, MAX_FILE_SIZE)
    if not threads:
        # Threads count, too. The superuser is not limited.
        _limit(resource.RLIMIT_NPROC, 0)
    # A service manager sends it to every process of the service; the server still responds to the
    # requests that it has, and ends this process itself.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # The output of a function must not be taken for a response.
    responses = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for name in preloaded:
        import_module(name)
    forbid_new_privileges()
    confine(_program_folders(), [] if folder is None else [folder])
    try:
        responses.write("\n")
        responses.flush()
        for line in sys.stdin.buffer:
            if max_seconds is not None:
                _limit_processor_time(max_seconds)
            responses.write(f"{json.dumps(_respond(line))}\n")
            responses.flush()
    except BrokenPipeError:
        # The server was killed meanwhile. Python would try to write again, and complain.
        os._exit(0)


def _limit(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(what, (most, most))


def _program_folders() -> set[str]:
    """Return the folders of modules that functions may import later, and of their libraries.

    A folder of the search path may also have other files. Unless it is one of `_SITES`, only the
    packages in it that are imported already are returned.
    """
    folders = {os.path.dirname(os.__file__), os.path.join(sys.base_prefix, "lib"), *_LIBRARIES}
    folders.update(folder for folder in sys.path if os.path.basename(folder) in _SITES)
    # It may be installed elsewhere, and functions import it later.
    rules = find_spec("octavo_rules")
    folders.update((rules and rules.submodule_search_locations) or ())
    for module in [*sys.modules.values()]:
        folders.update(getattr(module, "__path__", ()))
    return folders


def _respond(line: bytes) -> dict[str, object]:
    module, name, arguments = json.loads(line)
    try:
        return {"result": getattr(import_module(module), name)(*arguments)}
    except ValueError as error:
        # The function refuses its arguments.
        return {"refused": str(error), "kind": type(error).__name__}
    except OSError as error:
        return {"failed": f"{type(error).__name__}: {error}", "errno": error.errno}
    except MemoryError:
        return {"exceeded": "it needs more memory than a worker process may have"}
    except Exception as error:  # noqa: BLE001 - the server is to learn of any
        return {"failed": f"{type(error).__name__}: {error}"}


def _limit_processor_time(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + 1 + seconds
    # The default action of SIGXCPU, at the soft limit, ends the process.
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _lower_priority() -> None:
    if hasattr(os, "SCHED_IDLE"):
        # Any thread of the server that wakes up takes the processor immediately. With a nice value
        # of 19, it would wait for the next tick of the scheduler now and then.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.setpriority(os.PRIO_PROCESS, 0, 19)


if __name__ == "__main__":
    sys.path[:], arguments = json.loads(sys.argv[1])
    main(*arguments)
