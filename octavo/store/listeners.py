"""What features do in the transactions of others: see `Listeners`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from octavo_rules.identity import AccountId, FileId, WorkspaceId

if TYPE_CHECKING:
    from octavo.model.files.plan import Plan
    from octavo.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Listeners:
    """Functions that are called in a transaction, in their order.

    Each takes the transaction, awaits nothing else and does bounded work. An exception aborts the
    transaction. The save of texts in one statement calls none of them: what has to follow every
    save is an index (`octavo.store.queries.index_backlog`). Workspaces are named by their ids, by
    their numbers, or by both.

    Attributes:
        committing: before the heads of some plans are stored; the position has moved already.
        files_moving: before some files get other paths or states.
        files_purged: before the texts and earlier paths of files are erased.
        texts_sweeping: before texts are deleted; returns whether it did something and is to be
            called again first.
        texts_swept: after texts of purged files were deleted.
        workspace_deleted: after a workspace was deleted, whose files are still stored.
        workspace_sweeping: before these files are deleted; returns as `texts_sweeping`.
        account_removing: before an account is deleted.
        access_ended: when everything ends that had access to an account before its address was
            proven.
    """

    committing: Sequence[
        Callable[[Transaction, WorkspaceId, int, Sequence[Plan]], Awaitable[object]]
    ] = ()
    files_moving: Sequence[Callable[[Transaction, int, Sequence[FileId]], Awaitable[object]]] = ()
    files_purged: Sequence[
        Callable[[Transaction, WorkspaceId, int, Sequence[FileId]], Awaitable[object]]
    ] = ()
    texts_sweeping: Sequence[Callable[[Transaction], Awaitable[bool]]] = ()
    texts_swept: Sequence[Callable[[Transaction], Awaitable[object]]] = ()
    workspace_deleted: Sequence[Callable[[Transaction, WorkspaceId], Awaitable[object]]] = ()
    workspace_sweeping: Sequence[Callable[[Transaction, int], Awaitable[bool]]] = ()
    account_removing: Sequence[Callable[[Transaction, AccountId], Awaitable[object]]] = ()
    access_ended: Sequence[Callable[[Transaction, AccountId], Awaitable[object]]] = ()


def combined(listeners: Iterable[Listeners]) -> Listeners:
    """Return the listeners of all, in their order."""
    some = [*listeners]
    names = [field.name for field in fields(Listeners)]
    return Listeners(
        **{name: tuple(one for each in some for one in getattr(each, name)) for name in names}
    )


NO_LISTENERS = Listeners()
