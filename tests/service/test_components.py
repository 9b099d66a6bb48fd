"""The components as a server connects them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import trio
from antechamber.asgi import Receive, Scope
from antechamber.target import read_target
from greenroom import Supervisor
from octavo_rules.changes import PurgeFile
from octavo_rules.content import note_text
from octavo_rules.identity import AccountId, FileId, MutationId, RevisionId, WorkspaceId
from octavo_rules.problems import NotSignedIn

from octavo.access.entropy import jitter, new_id
from octavo.actors.jobs.indexing import catch_up
from octavo.actors.workspace.messages import Push
from octavo.documents import DocumentCache
from octavo.features.legal.feature import read_legal
from octavo.features.publishing.reading import PublishedReading
from octavo.features.publishing.renderings import Renderings
from octavo.features.publishing.workspace_map import WorkspaceMaps
from octavo.features.search.note_search import SearchedTexts
from octavo.features.search.rules import finders_of, ranked
from octavo.features.search.sql.fulltext_index import WORDS
from octavo.features.search.sql.searching import candidates
from octavo.http.contract.call import Principal
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    fingerprint,
)
from octavo.model.files.plan import Receipt
from octavo.model.search.query import parse_query
from octavo.service import components
from octavo.service.components import Service, build_service
from octavo.service.features import LISTENERS
from octavo.service.settings import Settings
from octavo.store.content_cache import ContentCache
from octavo.store.engine import open_engine
from octavo.store.open_blobs import open_blob_folders
from octavo.store.queries.workspaces import create
from octavo.store.transaction import Transaction

ANN, VAULT, NOTE = AccountId(new_id()), WorkspaceId(new_id()), FileId(new_id())


async def perform(scope: Scope, receive: Receive, request_id: str, caller: Principal) -> object:
    raise NotSignedIn


async def add_ann(transaction: Transaction) -> None:
    await transaction.execute(
        "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
        " updated_at)"
        " VALUES ($1::uuid, 'ann@example.org', 'Ann', '', 'member', 'enabled', 0, 0)",
        ANN,
    )


async def push(parts: Service, *operations: ChangeOperation) -> Receipt:
    changeset = Changeset(
        MutationId(new_id()), fingerprint(operations), ANN, operations, repeatable=False
    )
    return await parts.workspaces.ask(VAULT, Push(changeset))


def head_in(receipt: Receipt) -> frozenset[RevisionId]:
    return frozenset({receipt.outcomes[0].head.revision_id})


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Service]:
    """The components of a server, with an account and a workspace."""
    settings = Settings(data_dir=folder)
    async with open_engine(settings, LISTENERS, random=jitter, serving=True) as engine:
        folders, legal = await open_blob_folders(settings, new_id()), await read_legal(settings)
        root = Supervisor("octavo")
        parts = build_service(
            root,
            settings,
            engine,
            folders,
            legal,
            log_audit=lambda _: None,
            log_request=lambda _: None,
            perform=perform,
        )
        with trio.fail_after(30):
            async with root.running():
                await parts.kernel.store.write(add_ann)
                await parts.kernel.store.write(create(VAULT, "Vault", ANN, 0))
                yield parts


async def until(met: Callable[[], bool]) -> None:
    """Wait for what nobody announces."""
    while not met():  # noqa: ASYNC110
        await trio.sleep(0.02)


async def test_texts_that_are_held_are_forgotten_when_a_file_is_purged(tmp_path: Path) -> None:
    async with running(tmp_path) as parts:
        head = await push(parts, CreateFile(NOTE, "a.md", note_text("tide")))
        script = candidates([VAULT], parse_query("tide"), None)
        assert await catch_up(parts.kernel.store, WORDS, [VAULT])
        found = await parts.kernel.store.read(script)
        best = ranked(found.candidates, finders_of(parse_query("tide")))
        parts.features.search.searched.keep_found(best, parts.features.search.searched.generation)
        assert len(parts.features.search.searched.contents) == 1
        await parts.features.files.texts.read(VAULT, NOTE)
        assert len(parts.features.files.texts.cache.contents) == 1
        await push(parts, DeleteFile(NOTE, head_in(head)))
        assert (
            len(parts.features.search.searched.contents)
            == len(parts.features.files.texts.cache.contents)
            == 1
        )
        await push(parts, PurgeFile(NOTE))
        assert not parts.features.search.searched.contents
        assert not parts.features.files.texts.cache.contents


async def test_nothing_that_is_not_used_any_more_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(components, "UNUSED_SECONDS", 0.05)
    async with running(tmp_path) as parts:
        await push(parts, CreateFile(NOTE, "a.md", note_text("tide")))
        await parts.features.files.texts.read(VAULT, NOTE)
        read_target(b"/api/search?q=tide")
        assert parts.features.files.texts.cache.contents
        await until(lambda: not parts.features.files.texts.cache.contents)
        await until(lambda: not read_target.cache_info().currsize)


async def test_every_cache_has_its_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "UNUSED_SECONDS", 0.05)
    kinds = {
        ContentCache,
        SearchedTexts,
        DocumentCache,
        Renderings,
        WorkspaceMaps,
        PublishedReading,
    }
    dropped: set[type] = set()
    for kind in kinds:
        monkeypatch.setattr(kind, "drop_unused", lambda self: dropped.add(type(self)))
    async with running(tmp_path):
        await until(lambda: dropped == kinds)


@pytest.mark.parametrize("shared", [False, True])
async def test_no_text_is_held_where_other_processes_may_purge_it(
    tmp_path: Path, shared: bool
) -> None:
    settings = Settings(data_dir=tmp_path)
    async with open_engine(settings, LISTENERS, random=jitter, serving=True) as opened:
        # Nothing is asked of the server before the parts run.
        server = opened.sqlite if shared else None
        engine = replace(opened, postgres=server)  # type: ignore[arg-type]
        folders, legal = await open_blob_folders(settings, new_id()), await read_legal(settings)
        root = Supervisor("octavo")
        parts = build_service(
            root,
            settings,
            engine,
            folders,
            legal,
            log_audit=lambda _: None,
            log_request=lambda _: None,
            perform=perform,
        )
        caches: list[ContentCache[Any, Any]] = [
            parts.features.search.searched,
            parts.features.files.texts.cache,
        ]
        for cache in caches:
            cache.keep("key", MagicMock(), 0)
            assert bool(cache.contents) is not shared
