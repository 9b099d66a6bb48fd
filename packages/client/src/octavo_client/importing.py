"""Import a zip archive into a workspace: send its parts, complete the import, follow its progress.

The source is read once. A part is in memory until the server has it, so it can be sent again.
Parts that the server has already, with the same bytes, are not sent; an import that was interrupted
goes on with the first part that is missing or differs.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import trio
from octavo_rules.schemas import Import, ImportPart, ImportWorkspaceResult, StartedImport

from octavo_client import errors
from octavo_client.connection import TEMPORARY, ApiConnection, Request
from octavo_client.content import Octets, Source, opened
from octavo_client.retrying import Retrying

POLL_SECONDS = 2.0
"""Seconds between two questions about an import that runs."""
_LOST_POLLS = 15
"""Polls that find the import idle before the response to its completion counts as lost."""
_ABORT_SECONDS = 5.0
_PART_SIZE = 8 * 1024 * 1024
_MAX_PARTS = 2048
_TEMPORARY = TEMPORARY | {507}
# The archive is at fault, or the workspace has files at its paths.
_REFUSED = frozenset((413, 422))
_CONFLICT = "path_conflict"
# Room can be made.
_FULL = "storage_limit"
# From proxies that gave up waiting.
_GATEWAY = frozenset((502, 504))


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import is.

    Attributes:
        import_id: continues the import, also in another process.
        step: ``sending`` the archive, or ``importing`` its files.
        done: bytes of the archive that the server has, or of files that it has imported.
        total: all of these bytes; 0 if they are not known.
    """

    import_id: str
    step: Literal["sending", "importing"]
    done: int
    total: int


class ArchiveImport:
    """One import.

    Args:
        connection: sends the requests.
        path: the path of the workspace.
        size: the size of the archive in bytes, or more; 0 if it is not known.
        progress: called with each progress.
    """

    def __init__(
        self,
        connection: ApiConnection,
        path: str,
        size: int,
        progress: Callable[[ImportProgress], object],
    ) -> None:
        self._connection = connection
        self._path = f"{path}/imports"
        self._size = size
        self._progress = progress
        self._id = ""
        self._part_size = 0
        self._received: dict[int, ImportPart] = {}
        self._result: ImportWorkspaceResult | None = None

    async def start(self) -> None:
        """Start an import."""
        request = Request("POST", self._path, {"size": self._size}, effect="single")
        started = await self._connection.ask(StartedImport, request)
        self._id = started.import_id
        self._part_size = min(
            started.part_size, max(_PART_SIZE, -(-self._size // started.max_parts))
        )
        if not self._size:
            self._part_size = started.part_size
        self._report("sending", 0, self._size)

    async def resume(self, import_id: str) -> None:
        """Continue an import that was started earlier."""
        self._id = import_id
        state = await self._state()
        self._result = state.result
        self._received = {part.number: part for part in state.received}
        # The parts are cut where they were cut before, or none would be the same.
        first = self._received[1].size if 1 in self._received else 0
        self._part_size = max(first, _PART_SIZE, -(-self._size // _MAX_PARTS))
        if state.state == "running":
            self._result = (await self._settled()).result

    async def run(self, chunks: AsyncIterator[bytes]) -> ImportWorkspaceResult:
        """Send what the server lacks, and complete the import."""
        if self._result is None:
            await self._send_parts(chunks)
            await self._complete()
        if self._result is None:
            raise errors.UnexpectedResponse(
                "the import is done without a result", outcome_unknown=True
            )
        return self._result

    async def abort(self) -> None:
        """Remove the import with its parts, if it can be done within seconds; never raises."""
        if not self._id:
            return
        request = Request("DELETE", f"{self._path}/{self._id}", effect="repeatable")
        with trio.move_on_after(_ABORT_SECONDS, shield=True), suppress(errors.ClientError):
            await self._connection.send(request)

    # Parts

    async def _send_parts(self, chunks: AsyncIterator[bytes]) -> None:
        number = sent = 0
        async with aclosing(_parts(chunks, self._part_size)) as parts:
            async for part in parts:
                number += 1
                await self._send_part(number, part, sent)
                sent += len(part)
        if any(received > number for received in self._received):
            raise errors.ArchiveDiffers(
                f"the import {self._id} has parts of another, longer archive: start a new import"
            )

    async def _send_part(self, number: int, part: bytearray, before: int) -> None:
        digest = await trio.to_thread.run_sync(lambda: sha256(part).hexdigest())
        known = self._received.get(number)
        if known is None or (known.size, known.digest) != (len(part), digest):
            content = Octets(part, lambda done: self._report("sending", before + done, self._size))
            received = await self._connection.ask(
                ImportPart,
                Request(
                    "PUT",
                    f"{self._path}/{self._id}/parts/{number}",
                    effect="repeatable",
                    content=content,
                    temporary=_TEMPORARY,
                ),
            )
            if received.digest != digest:
                raise errors.UnexpectedResponse(f"part {number} was changed on its way")
        self._report("sending", before + len(part), self._size)

    # Completion

    async def _complete(self) -> None:
        """Complete the import, until it is done or fails for good."""
        failures, read = self._connection.failures(), 0
        while self._result is None:
            try:
                await self._complete_once()
            except (errors.ConnectionFailed, errors.ProblemError) as error:
                if not _is_temporary(error, self._connection.retrying):
                    raise
                state = await self._settled()
                self._result = state.result
                if state.failure is not None and isinstance(error, errors.ConnectionFailed):
                    raise errors.ImportRefused(state.failure.code, state.failure.detail) from error
                if state.read > read:
                    failures.begin_again()
                read = state.read
                if self._result is None:
                    failures.add(error)
                    if failures.number >= self._connection.retrying.attempts:
                        raise
                    await failures.wait(error)

    async def _complete_once(self) -> None:
        """Send one request to complete the import, and report progress until the response."""
        failure: errors.ClientError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow, nursery.cancel_scope)
            # No limit of time: the response comes when the import has ended.
            request = Request(
                "POST",
                f"{self._path}/{self._id}/complete",
                effect="repeatable",
                attempts=1,
                patient=True,
            )
            try:
                self._result = await self._connection.ask(ImportWorkspaceResult, request)
            except errors.ClientError as error:
                failure = error
            nursery.cancel_scope.cancel(reason="the server has responded")
        if failure is not None:
            raise failure
        if self._result is None:
            raise errors.ConnectionFailed(
                "the response to the completion was lost", outcome_unknown=True
            )

    async def _follow(self, completion: trio.CancelScope) -> None:
        """Report the progress; cancel ``completion`` when the import has ended without it."""
        idle = 0
        while idle < _LOST_POLLS:
            await trio.sleep(POLL_SECONDS)
            with suppress(errors.ClientError):
                state = await self._state(attempts=1)
                idle = 0 if state.state == "running" else idle + 1
                if state.result is not None:
                    self._result = state.result
                    break
        completion.cancel(reason="the import has ended, and the response did not come")

    async def _settled(self) -> Import:
        """Wait until the import does not run; return its state."""
        while True:
            state = await self._state()
            if state.state != "running":
                return state
            await trio.sleep(POLL_SECONDS)

    async def _state(self, attempts: int | None = None) -> Import:
        request = Request("GET", f"{self._path}/{self._id}", attempts=attempts)
        state = await self._connection.ask(Import, request)
        if state.state == "running":
            self._report("importing", state.read, state.total)
        return state

    def _report(self, step: Literal["sending", "importing"], done: int, total: int) -> None:
        self._progress(ImportProgress(self._id, step, done, total))


async def _parts(chunks: AsyncIterator[bytes], size: int) -> AsyncGenerator[bytearray, None]:
    """Cut ``chunks`` into parts of ``size`` bytes; the last one may be shorter."""
    part = bytearray()
    async for chunk in chunks:
        rest = memoryview(chunk)
        while len(rest):
            taken = rest[: size - len(part)]
            part += taken
            rest = rest[len(taken) :]
            if len(part) == size:
                yield part
                part = bytearray()
    if part:
        yield part


def _is_temporary(error: errors.ClientError, retrying: Retrying) -> bool:
    """Return whether it can help to send the completion again soon."""
    if not isinstance(error, errors.ProblemError):
        return True
    return error.status in _TEMPORARY | _GATEWAY and retrying.allows(error.retry_after)


def is_refusal(error: errors.ProblemError | errors.ImportRefused) -> bool:
    """Return whether an archive was refused, or its paths: it has to be changed, or the files."""
    if isinstance(error, errors.ImportRefused) or error.code == _CONFLICT:
        return True
    return error.status in _REFUSED and error.code != _FULL


async def import_archive(
    importing: ArchiveImport, source: Source, import_id: str | None, *, abort_on_cancel: bool
) -> ImportWorkspaceResult:
    """Start an import, or continue ``import_id``; see `WorkspaceClient.import_archive`."""
    try:
        async with opened(source) as chunks:
            if import_id is not None:
                await importing.resume(import_id)
                return await importing.run(chunks)
            await importing.start()
            try:
                return await importing.run(chunks)
            except (errors.ProblemError, errors.ImportRefused) as error:
                if is_refusal(error):
                    # The caller may not know its id, and it would count as an open import.
                    await importing.abort()
                raise
    except* trio.Cancelled:
        if abort_on_cancel:
            await importing.abort()
        raise
