"""Databases as the service opens them: with what its features do in each transaction."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from octavo.service import features
from octavo.store import sqlite
from octavo.store.postgres import store as postgres
from octavo.store.postgres.store import PostgresStore
from octavo.store.sqlite import InlineStore, SqliteStore
from octavo.store.sqlite.inline import FaultPoint


def open_inline(path: Path | None = None, fault_point: FaultPoint | None = None) -> InlineStore:
    return InlineStore(path, fault_point, features.LISTENERS)


def open_sqlite(
    folder: Path, *, check: bool = True, migrating: bool = True
) -> AbstractAsyncContextManager[SqliteStore]:
    return sqlite.open_sqlite(folder, features.LISTENERS, check=check, migrating=migrating)


def open_postgres(
    url: str, *, random: Callable[[], float], connections: int = 10
) -> AbstractAsyncContextManager[PostgresStore]:
    return postgres.open_postgres(url, features.LISTENERS, random=random, connections=connections)


def listen_too(
    patch: pytest.MonkeyPatch, event: str, listener: Callable[..., Any], *, first: bool = False
) -> None:
    """Add a listener to an event of the databases that are opened from now on."""
    others = [*getattr(features.LISTENERS, event)]
    changed = {event: [listener, *others] if first else [*others, listener]}
    patch.setattr(features, "LISTENERS", replace(features.LISTENERS, **changed))


def listen_no_more(patch: pytest.MonkeyPatch, event: str, listener: Callable[..., Any]) -> None:
    """Remove a listener from an event of the databases that are opened from now on."""
    left = [*getattr(features.LISTENERS, event)]
    left.remove(listener)
    patch.setattr(features, "LISTENERS", replace(features.LISTENERS, **{event: left}))
