"""Services that are broken where several things coincide, or where something must be forgotten."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from greenroom import UNANSWERED, ActorQuarantined, Envelope, NotExecuted, directory
from greenroom.cell import Cell
from greenroom.directory import ActivationLimit, VirtualActorCell
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
from octavo.model.files.plan import Batch, Plan
from octavo.store import Script, StoreUnavailable, Transaction
from octavo.store.content_cache import ContentCache
from octavo.store.queries import changesets, feed
from octavo.store.queries.changesets import PositionMoved
from octavo.store.queries.feed import Heads
from octavo.store.sqlite.transaction import SqliteTransaction
from tests.fakes.stores import listen_no_more

Break = Callable[[pytest.MonkeyPatch], None]


def stay_behind_when_others_were_faster(patch: pytest.MonkeyPatch) -> None:
    """A workspace that another process changed is planned again without what it has changed."""
    heads_after = feed.heads_after

    def nothing_after(workspace_id: WorkspaceId, cursor: Cursor) -> Script[Heads | None]:
        async def read(transaction: Transaction) -> Heads:
            return Heads(cursor, True, [])

        # Each batch begins with what the store has.
        moved = isinstance(sys.exception(), PositionMoved)
        return read if moved else heads_after(workspace_id, cursor)

    patch.setattr(feed, "heads_after", nothing_after)


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
    run = directory.run_incarnation  # type: ignore[attr-defined]

    async def run_and_lose(cell: Cell, ready: Callable[[], None]) -> None:
        await run(cell, ready)
        if cell.mailbox.in_use:
            await cell.mailbox.receive(100)

    patch.setattr(directory, "run_incarnation", run_and_lose)


def forget_to_wake_after_passivation(patch: pytest.MonkeyPatch) -> None:
    """Messages that arrive while an actor is passivated wait until another one arrives."""
    enqueue: Callable[[ActivationLimit[Any], Any], None] = ActivationLimit.enqueue
    forgotten: set[VirtualActorCell] = set()

    def enqueue_for_new(self: ActivationLimit[Any], cell: VirtualActorCell) -> None:
        if cell.reason == "passivated" and cell.mailbox.in_use and cell not in forgotten:
            forgotten.add(cell)
            cell.key_state = "asleep"
        else:
            # Another message is about to arrive, or the actor has crashed.
            forgotten.discard(cell)
            enqueue(self, cell)

    patch.setattr(ActivationLimit, "enqueue", enqueue_for_new)


def forget_what_is_due_at_unsubscribe(patch: pytest.MonkeyPatch) -> None:
    """When one listener leaves, the others are not notified of what was due."""
    unsubscribe = NoticeHub.unsubscribe

    def forget(self: NoticeHub[Any], workspace_id: WorkspaceId, listener: Any) -> None:  # noqa: ANN401
        unsubscribe(self, workspace_id, listener)
        self._due.pop(workspace_id, None)

    patch.setattr(NoticeHub, "unsubscribe", forget)


def notify_the_first_listener_alone(patch: pytest.MonkeyPatch) -> None:
    """Of several listeners, only the first is notified."""
    subscribe = NoticeHub.subscribe

    def subscribe_first(self: NoticeHub[Any], workspace_id: WorkspaceId, listener: Any) -> None:  # noqa: ANN401
        if workspace_id not in self.listened_to():
            subscribe(self, workspace_id, listener)

    patch.setattr(NoticeHub, "subscribe", subscribe_first)


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
    """Searches hold the texts of purged notes when it is unknown whether they were purged."""
    init: Callable[..., None] = WorkspaceActor.__init__

    def made(self: WorkspaceActor, *given: Any, purged: Callable[[], None], **named: Any) -> None:  # noqa: ANN401
        def purged_for_certain() -> None:
            if sys.exception() is None:
                purged()

        init(self, *given, purged=purged_for_certain, **named)

    patch.setattr(WorkspaceActor, "__init__", made)


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

    # Every public function changes the rows of the files along with those of their keys.
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
    refuse_waiting = Mailbox.refuse_waiting

    def leave(self: Mailbox, refusal: Callable[[], NotExecuted]) -> int:
        quarantined = isinstance(refusal(), ActorQuarantined)
        return 0 if quarantined else refuse_waiting(self, refusal)

    patch.setattr(Mailbox, "refuse_waiting", leave)


def stamp_revisions_in_seconds(patch: pytest.MonkeyPatch) -> None:
    """The time of a revision has another unit than it should."""
    planned = plan.plan

    def in_seconds(tree: Any, cursor: Cursor, change: Any, now: int, *given: Any) -> Plan:  # noqa: ANN401
        return planned(tree, cursor, change, now // 1000, *given)

    patch.setattr(plan, "plan", in_seconds)


def leave_out_the_origin(patch: pytest.MonkeyPatch) -> None:
    """Every change of a file counts as one of a device."""
    add = Batch.add
    patch.setattr(
        Batch, "add", lambda self, changeset: add(self, replace(changeset, origin="device"))
    )


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
    answer_while_changes_are_written: (
        r"not linearizable|, though .* was purged|told \w+ \d+ of \d+"
    ),
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
