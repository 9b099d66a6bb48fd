"""How a process handles notifications on the channel of the database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from antechamber.websocket import Frame
from greenroom import WorkerContext
from octavo_rules.identity import AccountId, Cursor, WorkspaceId

from octavo.actors.notice_hub import NoticeHub
from octavo.service.components import relay_notifications
from octavo.store.postgres.store import PostgresStore


async def read_nothing(_: WorkspaceId) -> None:
    """No store is asked."""


class Recorder(NoticeHub[Frame]):
    """Records announcements."""

    def __init__(self) -> None:
        super().__init__(lambda *_: Frame(b""), read_nothing)
        self.cursors: list[tuple[str, int, str]] = []
        self.accounts: list[AccountId] = []

    def announce(self, workspace_id: WorkspaceId, cursor: Cursor) -> None:
        self.cursors.append((workspace_id, *cursor))

    def recheck_access(self, account_id: AccountId) -> None:
        self.accounts.append(account_id)


class Spoken:
    """A database whose channel carries some notifications, and then no more."""

    def __init__(self, *messages: str) -> None:
        self._messages = messages

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[AsyncIterator[str]]:
        async def messages() -> AsyncIterator[str]:
            for message in self._messages:
                yield message

        yield messages()


@pytest.mark.parametrize(
    "strange", ["", "x", "a b c", "vault 1", "vault many r1", "vault 1 r1 r2", "\x00"]
)
async def test_notifications_of_other_programs_are_ignored(strange: str) -> None:
    hub = Recorder()
    spoken = cast(PostgresStore, Spoken("vault 1 r1", strange, "vault 2 r2"))
    await relay_notifications(spoken, hub, cast(WorkerContext, None))
    assert hub.cursors == [("vault", 1, "r1"), ("vault", 2, "r2")]


async def test_changed_rights_of_an_account_are_passed_on() -> None:
    hub = Recorder()
    spoken = cast(PostgresStore, Spoken("ann access", "vault 1 r1", "bob access"))
    await relay_notifications(spoken, hub, cast(WorkerContext, None))
    assert (hub.accounts, hub.cursors) == (["ann", "bob"], [("vault", 1, "r1")])
