"""Services that are broken where several things coincide, or where something must be forgotten."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import trio
from greenroom import UNANSWERED, Envelope
from greenroom.cell import Cell
from greenroom.directory import DirectoryChild, VirtualActorCell
from greenroom.mailbox import Mailbox
from greenroom.restart import CrashRecord
from octavo_rules.identity import Cursor, WorkspaceId

from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import WorkspaceActor
from octavo.actors.workspace.current_files import CurrentFile, CurrentFiles
from octavo.actors.workspace.messages import CommitFailed, Push
from octavo.features.history.rules.retention import prunable
from octavo.features.history.sql import history_pruning
from octavo.features.links.sql import link_index
from octavo.features.search.note_search import SearchedTexts
from octavo.features.search.rules import Ranked
from octavo.features.search.sql import fulltext_index
from octavo.model.files import plan
from octavo.model.files.changeset import Changeset
from octavo.model.files.plan import Batch, Plan
from octavo.store import StoreUnavailable
from octavo.store.content_cache import ContentCache
from octavo.store.queries import changesets
from octavo.store.sqlite.transaction import SqliteTransaction
from tests.fakes.stores import listen_no_more

Break = Callable[[pytest.MonkeyPatch], None]


def stay_behind_when_others_were_faster(patch: pytest.MonkeyPatch) -> None:
    """A workspace that another process changed is planned again without what it has changed."""
    accept = WorkspaceActor._accept

    async def stay(self: WorkspaceActor, state: Any, waiting: Any) -> Any:  # noqa: ANN401
        async def known() -> Any:  # noqa: ANN401
            return state

        refresh, self._refresh = self._refresh, known  # type: ignore[method-assign]
        try:
            return await accept(self, state, waiting)
        finally:
            self._refresh = refresh  # type: ignore[method-assign]

    patch.setattr(WorkspaceActor, "_accept", stay)


def reverse_batches(patch: pytest.MonkeyPatch) -> None:
    """The messages that wait together are handed out in reverse order."""
    receive = Mailbox.receive

    async def reversed_batch(self: Mailbox, limit: int) -> list[Envelope[Any]]:
        return (await receive(self, limit))[::-1]

    patch.setattr(Mailbox, "receive", reversed_batch)


def never_wake_a_quarantined_key(patch: pytest.MonkeyPatch) -> None:
    """A quarantine does not end."""
    patch.setattr(CrashRecord, "quarantined", lambda self, now: self.until is not None)


def lose_messages_at_passivation(patch: pytest.MonkeyPatch) -> None:
    """Messages that arrive while an actor is passivated are dropped."""
    passivated = DirectoryChild._passivated

    def lose(self: DirectoryChild, cell: VirtualActorCell) -> None:
        cell.mailbox._messages.clear()
        passivated(self, cell)

    patch.setattr(DirectoryChild, "_passivated", lose)


def forget_to_wake_after_passivation(patch: pytest.MonkeyPatch) -> None:
    """Messages that arrive while an actor is passivated wait until another one arrives."""
    patch.setattr(DirectoryChild, "_passivated", DirectoryChild._sleep)


def forget_what_is_due_at_unsubscribe(patch: pytest.MonkeyPatch) -> None:
    """When one listener leaves, the others are not notified of what was due."""
    unsubscribe = NoticeHub.unsubscribe

    def forget(self: NoticeHub[Any], workspace_id: WorkspaceId, listener: Any) -> None:  # noqa: ANN401
        unsubscribe(self, workspace_id, listener)
        self._due.pop(workspace_id, None)

    patch.setattr(NoticeHub, "unsubscribe", forget)


def notify_the_first_listener_alone(patch: pytest.MonkeyPatch) -> None:
    """Of several listeners, only the first is notified."""

    async def notify(
        self: NoticeHub[Any], workspace_id: WorkspaceId, cursor: Cursor, *, certain: bool
    ) -> None:
        frame = self._encode(workspace_id, cursor)
        for listener in list(self._listeners.get(workspace_id, ()))[:1]:
            listener.changed(workspace_id, cursor, frame, certain=certain)
        await trio.lowlevel.checkpoint()

    patch.setattr(NoticeHub, "_notify", notify)


async def _do_nothing(*_: object) -> None:
    pass


def keep_the_words_of_purged_notes(patch: pytest.MonkeyPatch) -> None:
    """A purged note stays in the index of words."""
    listen_no_more(patch, "files_purged", fulltext_index.remove_notes)


def keep_the_links_of_purged_notes(patch: pytest.MonkeyPatch) -> None:
    """A purged note stays in the index of links."""
    listen_no_more(patch, "files_purged", link_index.remove_links)


def keep_the_documents_of_purged_notes(patch: pytest.MonkeyPatch) -> None:
    """A purged note keeps its document."""
    patch.setattr(changesets, "delete_documents", _do_nothing)


def keep_the_texts_of_purged_notes_in_searches(patch: pytest.MonkeyPatch) -> None:
    """Searches hold the texts of purged notes when their actor fails before it publishes."""
    add, publish = Batch.add, WorkspaceActor._publish

    def add_quietly(self: Batch, changeset: Changeset) -> Plan:
        planned = add(self, changeset)
        self.purges = False
        return planned

    async def purge(self: WorkspaceActor, state: Any, batch: Batch, verdicts: Any) -> None:  # noqa: ANN401
        await publish(self, state, batch, verdicts)
        if any(change.outcome == "purged" for each in batch.plans for change in each.changes):
            self._purged()

    patch.setattr(Batch, "add", add_quietly)
    patch.setattr(WorkspaceActor, "_publish", purge)


def keep_texts_that_searches_read_before_a_purge(patch: pytest.MonkeyPatch) -> None:
    """A search that began before a purge holds the text that it has read."""
    keep = SearchedTexts.keep_found

    def keep_all(self: SearchedTexts, found: Iterable[Ranked], generation: int) -> None:
        keep(self, found, self.generation)

    patch.setattr(SearchedTexts, "keep_found", keep_all)


def mix_up_the_texts_that_searches_hold(patch: pytest.MonkeyPatch) -> None:
    """Searches hold the text of one note for another."""
    keep = SearchedTexts.keep_found

    def keep_others(self: SearchedTexts, found: Iterable[Ranked], generation: int) -> None:
        notes = [*found]
        others = [*notes[1:], *notes[:1]]
        mixed = [replace(each, text=other.text) for each, other in zip(notes, others, strict=True)]
        keep(self, mixed, generation)

    patch.setattr(SearchedTexts, "keep_found", keep_others)


def remember_files_whatever_the_actor_says(patch: pytest.MonkeyPatch) -> None:
    """A file that was read before is shown again, though its head has moved."""

    async def read(self: CurrentFiles[Any], *of: Any) -> Any:  # noqa: ANN401
        return self.cache.get(of[:2]) or await read_anew(self, *of)

    read_anew = CurrentFiles.read
    patch.setattr(CurrentFiles, "read", read)


def answer_while_changes_are_written(patch: pytest.MonkeyPatch) -> None:
    """An actor answers at once although it is at work, with heads that are not committed yet."""

    def answer(self: Cell, message: object) -> object:
        return UNANSWERED if self.answer is None else self.answer(message)

    patch.setattr(Cell, "answer_at_once", answer)


def remember_files_read_before_a_purge(patch: pytest.MonkeyPatch) -> None:
    """What was read of a file before it was purged is remembered afterwards."""
    keep = ContentCache.keep

    def keep_all(
        self: ContentCache[Any, Any], key: object, content: object, generation: int
    ) -> None:
        read_file = isinstance(content, CurrentFile)
        keep(self, key, content, self.generation if read_file else generation)

    patch.setattr(ContentCache, "keep", keep_all)


def remember_purged_files(patch: pytest.MonkeyPatch) -> None:
    """A purge leaves what readers have read in memory."""
    patch.setattr(CurrentFiles, "forget", lambda self: None)


def keep_the_keys_of_links(patch: pytest.MonkeyPatch) -> None:
    """The tables of keys keep those that a file had when it was first indexed."""
    replace_keys = link_index._replace_keys

    async def keep(transaction: Any, changed: Sequence[Any]) -> None:  # noqa: ANN401
        new = [each for each in changed if each[0].targets is None or not each[1].targets]
        await replace_keys(transaction, new)

    patch.setattr(link_index, "_replace_keys", keep)


def turn_away_several_pushes(patch: pytest.MonkeyPatch) -> None:
    """Changesets that wait together are refused as if the store had failed."""
    handle_batch = WorkspaceActor.handle_batch

    async def turn_away(self: WorkspaceActor, batch: Sequence[Envelope[Any]]) -> None:
        if sum(isinstance(envelope.message, Push) for envelope in batch) > 1:
            for envelope in batch:
                envelope.refuse(CommitFailed(StoreUnavailable("too many at once")))
            return
        await handle_batch(self, batch)

    patch.setattr(WorkspaceActor, "handle_batch", turn_away)


def keep_the_words_of_former_names(patch: pytest.MonkeyPatch) -> None:
    """A moved note is found by its former name."""
    patch.setattr(SqliteTransaction, "rename_words", _do_nothing)


def leave_messages_in_quarantine(patch: pytest.MonkeyPatch) -> None:
    """A quarantine refuses only what arrives later."""
    crashed = DirectoryChild._crashed

    def leave(self: DirectoryChild, cell: VirtualActorCell, error: BaseException) -> None:
        waiting, cell.mailbox._messages = cell.mailbox._messages, []
        crashed(self, cell, error)
        cell.mailbox._messages = waiting

    patch.setattr(DirectoryChild, "_crashed", leave)


def stamp_revisions_in_seconds(patch: pytest.MonkeyPatch) -> None:
    """The time of a revision has another unit than it should."""

    def next_of(self: Any, *given: Any) -> Any:  # noqa: ANN401
        return replace(next_revision(self, *given), created_at=self.now // 1000)

    next_revision = plan._ChangesetPlanner._next
    patch.setattr(plan._ChangesetPlanner, "_next", next_of)


def leave_out_the_origin(patch: pytest.MonkeyPatch) -> None:
    """Every change of a file counts as one of a device."""

    def next_of(self: Any, *given: Any) -> Any:  # noqa: ANN401
        return replace(next_revision(self, *given), origin="device")

    next_revision = plan._ChangesetPlanner._next
    patch.setattr(plan._ChangesetPlanner, "_next", next_of)


def prune_what_receipts_name(patch: pytest.MonkeyPatch) -> None:
    """A revision is pruned though its receipt has not expired."""
    patch.setattr(
        history_pruning,
        "prunable",
        lambda aged, *given: prunable([each._replace(held=False) for each in aged], *given),
    )


def leave_the_texts_of_pruned_revisions(patch: pytest.MonkeyPatch) -> None:
    """Pruning deletes the rows of revisions alone."""
    patch.setattr(history_pruning, "delete_contents", _do_nothing)


def keep_one_revision_too_few(patch: pytest.MonkeyPatch) -> None:
    """Of the newest revisions, one is pruned that should be kept."""
    patch.setattr(
        history_pruning,
        "prunable",
        lambda aged, newer, now, rule: prunable(
            aged, newer, now, replace(rule, least=rule.least - 1)
        ),
    )


BROKEN_COINCIDENCES: Mapping[Break, str] = {
    stay_behind_when_others_were_faster: "without a fault: .* changes too often",
    reverse_batches: "is legal, and was refused|was sent after .* came first",
    never_wake_a_quarantined_key: "is out of reach|a quarantine has ended",
    lose_messages_at_passivation: "a request .* took",
    forget_to_wake_after_passivation: "a request .* took",
    forget_what_is_due_at_unsubscribe: r"was told .* late|is due since",
    notify_the_first_listener_alone: r"is due since",
    keep_the_texts_of_purged_notes_in_searches: "searches hold the text|is cached, though",
    keep_texts_that_searches_read_before_a_purge: "searches hold the text",
    mix_up_the_texts_that_searches_hold: "a search found",
    remember_files_whatever_the_actor_says: "not linearizable",
    answer_while_changes_are_written: "not linearizable|, though .* was purged",
    remember_files_read_before_a_purge: "is cached, though",
    remember_purged_files: "is cached, though",
    keep_the_words_of_purged_notes: "fulltext_notes has .* of purged files",
    keep_the_links_of_purged_notes: "link_(index|targets|sources) has .* of purged files",
    keep_the_documents_of_purged_notes: "documents has .* of purged files",
    keep_the_keys_of_links: "the index has the link_(targets|sources)|the (unresolved )?links",
    turn_away_several_pushes: "without a fault: .*too many at once",
    keep_the_words_of_former_names: "the index has the words",
    leave_messages_in_quarantine: "a request .* took",
    stamp_revisions_in_seconds: "was sent at .* is from after",
    prune_what_receipts_name: "retention has removed",
    leave_the_texts_of_pruned_revisions: "texts and images of no revision",
    keep_one_revision_too_few: "retention has removed",
    leave_out_the_origin: "the origin of",
}
"""What is broken, and the message of the first failing schedule."""
