"""Devices that send several changes at once, without waiting for the first, to one workspace.

They are received in the order in which they were sent. Each device changes files of its own, so
that it knows which of its changes are legal, and which text each file has afterwards.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from random import Random
from typing import Literal

from greenroom import Envelope, NotExecuted, OutcomeUnknown
from greenroom.testing import note
from octavo_rules.changes import PurgeFile
from octavo_rules.content import NoteText, note_text
from octavo_rules.identity import FileId, MutationId, WorkspaceId

from octavo.actors.workspace.messages import ChangesetRefused, CommitFailed, Push
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    RestoreFile,
    UpdateFile,
    content_of,
)
from octavo.model.files.plan import Receipt
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.bare_process import Violation
from tests.simulation.kept import Kept
from tests.simulation.ledger import Ledger
from tests.simulation.process import Process

PIPELINES = WorkspaceId("z")
"""The workspace of these files, which the specification does not cover."""
PATIENCE = 1.0
"""Seconds that a device waits for a slot in a full mailbox."""

State = Literal["live", "deleted", "purged"]
Status = Literal["accepted", "refused", "not executed", "unknown"]


Files = dict[FileId, tuple[State, str]]
"""Files with the first word of the text of each, which is unique."""


class AnyHead(frozenset[str]):
    """Contains every revision: a change whatever the head is."""

    def __contains__(self, _: object) -> bool:
        return True


ANY = AnyHead()


@dataclass(eq=False, slots=True)
class SentPush:
    """A changeset of a pipeline, and what its device learned of it."""

    pipeline: int
    changeset: Changeset
    status: Status = "unknown"
    refusal: str = ""


@dataclass(slots=True)
class _Known:
    """A file as its device believes that it is."""

    state: State
    name: str
    linked: FileId | None = None


class PipelineUser:
    """Sends changes in pipelines, and remembers the order.

    Args:
        name: of the device.
        asking: its connection to the service.
        ledger: records what it sends.
        violated: called with each violation.
        receipts: has what the device was told, with the workspaces.
    """

    def __init__(
        self,
        name: str,
        asking: Asking[Process],
        ledger: Ledger,
        violated: Violation,
        receipts: list[tuple[WorkspaceId, Receipt]],
    ) -> None:
        self.name = name
        self._asking = asking
        self._ledger = ledger
        self._violated = violated
        self._receipts = receipts
        self._files: dict[FileId, _Known] = {}
        self._numbers = 0
        self._pipelines = 0
        self._doomed: FileId | None = None
        self.sent: list[SentPush] = []

    async def turn(self, random: Random) -> None:
        """Send a pipeline, as far as it is possible."""
        self._pipelines += 1
        pushes = [
            SentPush(self._pipelines, self._draft(random)) for _ in range(random.randint(2, 6))
        ]
        pushes += [SentPush(self._pipelines, each) for each in self._move_what_is_linked(random)]
        self.sent += pushes
        again = self._edited()[-3:]
        if again and random.random() < 0.9:
            # What was accepted is legal again, and must not be done again.
            pushes.insert(random.randrange(2), replace(random.choice(again)))
        with suppress(NothingDone, Unsettled):
            sent = ", ".join(each.changeset.mutation_id for each in pushes)
            files = {o.file_id: None for each in pushes for o in each.changeset.operations}
            await self._asking.ask(
                random,
                partial(self._send, pushes),
                f"{self.name} sends {sent}",
                PIPELINES,
                *(f"{PIPELINES}/{each}" for each in files),
            )

    def _edited(self) -> list[SentPush]:
        """Return the accepted changes that are legal whenever they are sent again."""
        return [each for each in self.sent if each.status == "accepted" and _is_edit(each)]

    # Sending

    async def _send(self, pushes: Sequence[SentPush], process: Process, _: float) -> None:
        ref = process.directory.ref(PIPELINES)
        waiting: list[tuple[SentPush, Envelope[Push]]] = []
        failure: Exception | None = None
        try:
            for each in pushes:
                each.status = "not executed"
                envelope = Envelope(Push(each.changeset), is_ask=True)
                waiting.append((each, envelope))
                try:
                    await ref.resolve(envelope.message).mailbox.put(envelope, PATIENCE)
                except NotExecuted as error:
                    waiting.pop()
                    failure = failure or error
            while waiting:
                each, envelope = waiting[0]
                await envelope.settled()
                waiting.pop(0)
                failure = self._learn(process, each, envelope) or failure
        finally:
            for each, envelope in waiting:
                if not envelope.abandon():
                    each.status = "unknown"
        if failure is not None:
            raise failure

    def _learn(
        self, process: Process, sent: SentPush, envelope: Envelope[Push]
    ) -> Exception | None:
        mutation = sent.changeset.mutation_id
        about = (PIPELINES, *(f"{PIPELINES}/{o.file_id}" for o in sent.changeset.operations))
        try:
            receipt = envelope.result()
        except ChangesetRefused as error:
            sent.status, sent.refusal = "refused", error.refusal.code
            note(f"{mutation} is refused: {sent.refusal}", *about)
            return None
        except NotExecuted as error:
            return error
        except CommitFailed as error:
            if error.error.outcome_unknown:
                sent.status = "unknown"
            return error
        except OutcomeUnknown as error:
            sent.status = "unknown"
            return error
        assert isinstance(receipt, Receipt)
        sent.status = "accepted"
        note(f"{mutation} is accepted at {receipt.position}", *about)
        self._receipts.append((PIPELINES, receipt))
        process.audience.require_announced(PIPELINES, receipt.position)
        return None

    # Drafting

    def _draft(self, random: Random) -> Changeset:
        mutation = MutationId(f"{self.name}z{len(self._ledger.sent)}")
        operations = [self._operation(self._some_file(random), random)]
        if random.random() < 0.1:
            other = self._some_file(random)
            if other != operations[0].file_id:
                operations.append(self._operation(other, random))
        return self._ledger.send(mutation, operations, random)

    def _text(self, linked: FileId | None) -> tuple[NoteText, FileId | None]:
        """Return a text that links to a file, and the file."""
        self._numbers += 1
        name = "nowhere" if linked is None else self._files[linked].name
        return note_text(f"w{self._numbers}{self.name}x [[{name}]]\n"), linked

    def _move_what_is_linked(self, random: Random) -> Iterator[Changeset]:
        """Write a note that links to another, and move the other at once."""
        pairs = [
            (each, file.linked)
            for each, file in self._files.items()
            if file.state == "live"
            and file.linked not in (None, each)
            and self._files[file.linked].state == "live"
        ]
        if not pairs or random.random() < 0.5:
            return
        writer, linked = random.choice(pairs)
        text, _ = self._text(linked)
        name = f"n{self._numbers}{self.name}"
        self._files[linked].name = name
        move = UpdateFile(linked, ANY, path=f"{self.name}/{name}.md", rewrite_links=True)
        for operation in (UpdateFile(writer, ANY, text), move):
            mutation = MutationId(f"{self.name}z{len(self._ledger.sent)}")
            yield self._ledger.send(mutation, [operation], random)

    def _some_file(self, random: Random) -> FileId:
        if self._doomed is not None:
            return self._doomed
        known = [each for each, file in self._files.items() if file.state != "purged"]
        if not known or random.random() < 0.2:
            self._numbers += 1
            return FileId(f"{self.name}z{self._numbers}")
        # Often an older one, which was indexed since.
        return random.choice(known[-2:] if random.random() < 0.7 else known)

    def _operation(self, file_id: FileId, random: Random) -> ChangeOperation:
        known = self._files.get(file_id)
        self._numbers += 1
        number = self._numbers
        path = f"{self.name}/n{number}{self.name}.md"
        live = [each for each, file in self._files.items() if file.state == "live"]
        text, linked = self._text(random.choice(live[-3:]) if live else None)
        if known is None:
            self._files[file_id] = _Known("live", f"n{number}{self.name}", linked)
            return CreateFile(file_id, path, text)
        if known.state == "live":
            drawn = random.random()
            if drawn < 0.35 or (drawn < 0.7 and not self._edited()):
                known.linked = linked
                return UpdateFile(file_id, ANY, text)
            if drawn < 0.6:
                known.name = f"n{number}{self.name}"
                return UpdateFile(file_id, ANY, path=path, rewrite_links=random.random() < 0.6)
            if drawn < 0.65:
                # That is refused.
                return PurgeFile(file_id)
            known.state = "deleted"
            if random.random() < 0.6:
                self._doomed = file_id
            return DeleteFile(file_id, ANY)
        drawn = 1.0 if file_id == self._doomed else random.random()
        self._doomed = None
        if drawn < 0.1:
            # That is refused.
            return UpdateFile(file_id, ANY, text)
        if drawn < 0.4:
            known.state = "live"
            return RestoreFile(file_id, ANY, random.choice([None, path]))
        known.state = "purged"
        return PurgeFile(file_id)


def _is_edit(sent: SentPush) -> bool:
    operation = sent.changeset.operations[0]
    return isinstance(operation, UpdateFile) and operation.path is None


# The verdict


def faults_of_pipelines(kept: Kept, user: PipelineUser) -> Iterator[str]:
    """Return what contradicts the order in which a device has sent its changes."""
    executed = [each for each in user.sent if each.changeset.mutation_id in kept.receipts]
    positions = {
        each.changeset.mutation_id: kept.receipts[each.changeset.mutation_id].position
        for each in executed
    }
    for before, after in pairwise(executed):
        first, second = before.changeset.mutation_id, after.changeset.mutation_id
        if before.pipeline == after.pipeline and positions[first] >= positions[second]:
            yield f"{second} was sent after {first}, and came first: {positions}"
    states: Files = {}
    for each in sorted(executed, key=lambda each: positions[each.changeset.mutation_id]):
        if not _apply(each.changeset, states):
            yield f"{each} was accepted, and is not legal"
    for file_id, (state, word) in states.items():
        head = kept.heads[file_id]
        if head.state != state:
            yield f"{head} should be {state}"
        elif state != "purged" and word not in kept.text_of(head):
            yield f"{head} reads {kept.text_of(head)!r} without {word}"
    yield from _faults_of_answers(kept, user)


def _faults_of_answers(kept: Kept, user: PipelineUser) -> Iterator[str]:
    states: Files = {}
    certain = True
    for each in user.sent:
        was_executed = each.changeset.mutation_id in kept.receipts
        if was_executed != (each.status == "accepted") and each.status != "unknown":
            yield f"{each} is {'' if was_executed else 'not '}kept"
        # What was cut off may be executed later than what was sent then.
        certain = certain and each.status != "unknown"
        is_legal = _apply(each.changeset, dict(states))
        if certain and each.status == "refused" and is_legal:
            yield f"{each} is legal, and was refused"
        if was_executed:
            _apply(each.changeset, states)


def _apply(changeset: Changeset, states: Files) -> bool:
    """Change the states of files as a changeset does; return whether it is legal."""
    expected: State | None
    after: State
    for operation in changeset.operations:
        before, word = states.get(operation.file_id, (None, ""))
        match operation:
            case CreateFile():
                expected, after = None, "live"
            case UpdateFile():
                expected, after = "live", "live"
            case DeleteFile():
                expected, after = "live", "deleted"
            case RestoreFile():
                expected, after = "deleted", "live"
            case _:
                expected, after = "deleted", "purged"
        if before != expected:
            return False
        content = content_of(operation)
        states[operation.file_id] = after, content.text.split()[0] if content else word
    return True
