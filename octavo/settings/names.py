"""The names of settings in the environment and on the command line, and corrections of names."""

import difflib
import re
from collections.abc import Iterable

PREFIX = "OCTAVO_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
CONFIG_OPTION = "--config"
KEY_VARIABLE = f"{PREFIX}KEY"
"""The API key of commands that are clients of a server; no setting."""

# A name with a letter or two wrong is near; one that only shares the prefix is not.
_NEAR = 0.85
# Kubernetes describes a service named octavo, or octavo-something, in variables like these.
_OF_A_PLATFORM = re.compile(r"_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_|$)")
_ADDRESS_OF_A_PLATFORM = re.compile(r"(tcp|udp|sctp)://")
# Names that others give to the same thing.
_MEANT = {
    "address": "bind",
    "base_url": "public_url",
    "bucket": "object_store",
    "data": "data_dir",
    "data_folder": "data_dir",
    "database_url": "database",
    "db": "database",
    "host": "bind",
    "listen": "bind",
    "origin": "public_url",
    "port": "bind",
    "s3": "object_store",
    "url": "public_url",
}


def variable(name: str) -> str:
    """Return the environment variable of the setting ``name``."""
    return PREFIX + name.upper()


def option(name: str) -> str:
    """Return the option of the command line of the setting ``name``."""
    return f"--{name.replace('_', '-')}"


def is_of_a_platform(name: str, value: str) -> bool:
    """Return whether a container platform sets the variable ``name`` for a service near by."""
    return bool(_OF_A_PLATFORM.search(name) or _ADDRESS_OF_A_PLATFORM.match(value))


RENAMED = {
    "blobs": "object_store",
    "body_idle_time": "body_timeout",
    "drain": "drain_timeout",
    "grace": "shutdown_timeout",
    "head_time": "header_timeout",
    "history_least": "history_min_revisions",
    "idle_time": "idle_timeout",
    "known_browsers_waiting": "known_device_queue",
    "request_time": "request_timeout",
    "write_time": "write_timeout",
}
"""The present names of settings by their former ones."""


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return which of the ``known`` settings ``name`` stands for; None if none is near."""
    plain = name.lower().replace("-", "_")
    known = tuple(known)
    if plain in known:
        return plain
    if plain in _MEANT:
        return _MEANT[plain]
    # With the prefix, so that a short name with a wrong letter is near, too.
    near = difflib.get_close_matches(variable(plain), map(variable, known), n=1, cutoff=_NEAR)
    return near[0].removeprefix(PREFIX).lower() if near else None
