"""Access that is broken on purpose: each omits something that ends it, or tells of it, in time."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
import trio
from antechamber.websocket import Frame
from octavo_rules.identity import Cursor, Position, WorkspaceId

from octavo.access import audit
from octavo.access.workspaces import Access
from octavo.actors.notice_hub import NoticeHub
from octavo.features.accounts.credentials import CachedCaller, CredentialCache
from octavo.features.accounts.own_credentials import OwnKeys, OwnSessions
from octavo.store import StoreUnavailable
from octavo.store.gathered_reads import GatheredReads
from octavo.store.postgres.listening import Gap, Messages, _Listener
from octavo.store.queries import process_notices, workspaces
from octavo.store.queries.workspaces import WorkspaceAccess
from octavo.ws.notice_stream import NoticeStream, ReadAccess, StillValid
from tests.simulation import access_service
from tests.simulation.access_process import AccessProcess
from tests.simulation.simulation import Break


async def _nothing(*_: object) -> None:
    """Do nothing."""


def _silent(module: object, name: str, what: str) -> Break:
    """Return a break: the processes are not notified."""

    def broken(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(module, name, _nothing)

    broken.__name__ = f"do_not_notify_of_{what}"
    return broken


def ignore_gaps(patch: pytest.MonkeyPatch) -> None:
    """A connection that was lost is opened again, as if nothing had been missed."""
    put = Messages.put

    def put_message(self: Messages, message: str | Gap) -> None:
        if not isinstance(message, Gap):
            put(self, message)

    patch.setattr(Messages, "put", put_message)


def check_no_access_after_a_gap(patch: pytest.MonkeyPatch) -> None:
    """After a gap, only positions are looked up."""
    patch.setattr(NoticeHub, "recheck_all", lambda self: None)


def wait_for_the_end_of_a_vanished_connection(patch: pytest.MonkeyPatch) -> None:
    """Nobody asks a silent server whether it is there."""

    async def lost(self: _Listener, _: object) -> None:
        await self._gone.wait()

    patch.setattr(_Listener, "lost", lost)


def announce_what_is_next(patch: pytest.MonkeyPatch) -> None:
    """A position is announced that is not committed yet."""
    announce = NoticeHub.announce

    def early(self: NoticeHub[Frame], workspace_id: WorkspaceId, cursor: Cursor) -> None:
        announce(self, workspace_id, Cursor(Position(cursor.position + 1), cursor.mark))

    patch.setattr(NoticeHub, "announce", early)


def check_no_memberships(patch: pytest.MonkeyPatch) -> None:
    """A stream checks its credential only."""
    init: Callable[..., None] = NoticeStream.__init__

    def made(
        self: NoticeStream,
        *given: Any,  # noqa: ANN401
        workspace_access: ReadAccess,
        still_valid: StillValid,
        **named: Any,  # noqa: ANN401
    ) -> None:
        checking = False

        async def valid() -> bool:
            nonlocal checking
            checking = await still_valid()
            return checking

        async def look(workspace_ids: Sequence[WorkspaceId]) -> dict[WorkspaceId, WorkspaceAccess]:
            # A check looks at the credential first, a subscription at the workspace alone.
            nonlocal checking
            checked, checking = checking, False
            found = await workspace_access(workspace_ids)
            return {
                workspace_id: access._replace(member=access.member or checked)
                for workspace_id, access in found.items()
            }

        init(self, *given, workspace_access=look, still_valid=valid, **named)

    patch.setattr(NoticeStream, "__init__", made)


def check_no_credential(patch: pytest.MonkeyPatch) -> None:
    """A stream checks its memberships only."""
    init = NoticeStream.__init__

    async def valid() -> bool:
        return True

    def made(self: NoticeStream, *given: Any, **named: Any) -> None:  # noqa: ANN401
        init(self, *given, **{**named, "still_valid": valid})

    patch.setattr(NoticeStream, "__init__", made)


def cache_in_several_processes(patch: pytest.MonkeyPatch) -> None:
    """Several processes cache credentials and memberships as a single one does."""

    def made(*given: Any, **named: Any) -> AccessProcess:  # noqa: ANN401
        return AccessProcess(*given, **{**named, "fresh": access_service.FRESH})

    patch.setattr(access_service, "AccessProcess", made)


def remember_memberships(patch: pytest.MonkeyPatch) -> None:
    """The cache of memberships keeps those that change."""
    patch.setattr(Access, "forget", lambda self, workspace_id: None)


def keep_what_was_looked_up_before(patch: pytest.MonkeyPatch) -> None:
    """A caller is cached although something was forgotten while it was looked up."""
    keep = CredentialCache.keep

    def keep_anyway(
        self: CredentialCache, digest: bytes, entry: CachedCaller, generation: int
    ) -> None:
        keep(self, digest, entry, self.generation)

    patch.setattr(CredentialCache, "keep", keep_anyway)


def answer_from_an_earlier_look_up(patch: pytest.MonkeyPatch) -> None:
    """Who asks shortly after somebody else gets what was read before it asked."""
    find = GatheredReads.find
    kept: dict[tuple[object, object], tuple[float, Any]] = {}

    async def find_or_answer(self: GatheredReads[Any, Any], key: object) -> Any:  # noqa: ANN401
        until, found = kept.get((self, key), (-math.inf, None))
        if trio.current_time() > until:
            found = await find(self, key)
            kept[self, key] = trio.current_time() + 0.1, found
        return found

    patch.setattr(GatheredReads, "find", find_or_answer)


def tell_everything_again(patch: pytest.MonkeyPatch) -> None:
    """A position that was told before is told again."""

    def changed(
        self: NoticeStream,
        workspace_id: WorkspaceId,
        cursor: Cursor,
        frame: Frame,
        *,
        certain: bool,
    ) -> None:
        if workspace_id in self._sent:
            self._sent[workspace_id] = Cursor(Position(cursor.position - 1), cursor.mark)
            self._send_later(workspace_id, cursor)

    patch.setattr(NoticeStream, "changed", changed)


def follow_after_the_look(patch: pytest.MonkeyPatch) -> None:
    """The position is read first, and changes are listened to then."""
    init: Callable[..., None] = NoticeStream.__init__
    subscribe = NoticeHub.subscribe

    def made(self: NoticeStream, *given: Any, workspace_access: Any, **named: Any) -> None:  # noqa: ANN401
        async def look(workspace_ids: Sequence[WorkspaceId]) -> object:
            found = await workspace_access(workspace_ids)
            await trio.sleep(0.5)
            for workspace_id in workspace_ids:
                subscribe(given[1], workspace_id, self)
            return found

        init(self, *given, workspace_access=look, **named)

    patch.setattr(NoticeHub, "subscribe", lambda *_: None)
    patch.setattr(NoticeStream, "__init__", made)


def take_failed_revocations_for_done(patch: pytest.MonkeyPatch) -> None:
    """A revocation is acknowledged when its outcome is unknown."""
    revoke: Callable[..., Awaitable[None]] = OwnKeys.revoke
    end: Callable[..., Awaitable[None]] = OwnSessions.end

    async def revoke_or_not(self: OwnKeys, *given: object, **named: object) -> None:
        with suppress(StoreUnavailable):
            await revoke(self, *given, **named)

    async def end_or_not(self: OwnSessions, *given: object, **named: object) -> None:
        with suppress(StoreUnavailable):
            await end(self, *given, **named)

    patch.setattr(OwnKeys, "revoke", revoke_or_not)
    patch.setattr(OwnSessions, "end", end_or_not)


ACCESS_BROKEN: Mapping[Break, str] = {
    ignore_gaps: "was not told|outlived",
    check_no_access_after_a_gap: "outlived",
    wait_for_the_end_of_a_vanished_connection: "does not hear of the others",
    announce_what_is_next: "before it was committed",
    check_no_memberships: "outlived its membership",
    check_no_credential: "outlived (its credential|the expiry)",
    cache_in_several_processes: "was served as|after its end|outlived its credential",
    remember_memberships: "was served as",
    # An open stream is checked with what was kept, too.
    keep_what_was_looked_up_before: "after its end|outlived its credential",
    answer_from_an_earlier_look_up: "after its end|was served as|outlived",
    tell_everything_again: r"was told \d+ of .* after",
    follow_after_the_look: "was not told",
    _silent(audit, "notify_access", "access"): "outlived its (membership|credential)",
    _silent(workspaces, "notify_deletion", "deletions"): "outlived its membership",
    _silent(process_notices, "notify_change", "positions"): "was not told",
    take_failed_revocations_for_done: "was revoked at .*, and is still there",
}
"""What is left out, and the message of the first failing schedule."""
