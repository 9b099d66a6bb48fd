"""Forms with a file of any size, which is read as it arrives.

The fields before the file are read first: whether it is to be read at all is known before its first
byte is stored.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from octavo.http import contract
from octavo.http.pages.forms import SentForm, field_text

LARGEST_FIELD = 4096
"""Bytes of a field beside the file."""
_BOUNDS = contract.PartBounds(parts=10, field=LARGEST_FIELD)
_BESIDE_THE_FILE = 64 * 1024


class Slices:
    """The bytes of a file in slices, one after the other.

    Iterate this after each `more`, until it ends. Nothing but the last chunk is in memory.

    Args:
        chunks: the bytes as they arrive.
        size: maximum size of a slice, in bytes.

    Attributes:
        size: of the slices that follow.
        waiting: bytes that have arrived, and are in no slice yet.
    """

    def __init__(self, chunks: AsyncIterator[bytes], size: int) -> None:
        self._chunks = chunks
        self.size = size
        self._left = 0
        self.waiting = b""

    async def more(self) -> bool:
        """Begin the next slice; return whether there is one."""
        self._left = self.size
        while not self.waiting:
            try:
                self.waiting = await anext(self._chunks)
            except StopAsyncIteration:
                return False
        return True

    def __aiter__(self) -> "Slices":
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        chunk = self.waiting or await anext(self._chunks)
        piece, self.waiting = chunk[: self._left], chunk[self._left :]
        self._left -= len(piece)
        return piece


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form whose file arrives.

    Attributes:
        fields: the fields before the file.
        file: the file; None if the form has none.
    """

    fields: dict[str, str]
    file: contract.Part | None


async def open_upload(body: SentForm, size: int) -> UploadForm:
    """Return a form, read up to its file of at most ``size`` bytes, which may take long to arrive.

    The time is extended while bytes arrive. Raises `InvalidRequest`, `BodyTooLarge`,
    `UnsupportedMediaType` and `ClientLeft`.
    """
    body.allow_time()
    fields: dict[str, str] = {}
    form = contract.multipart_body(limit=size + _BESIDE_THE_FILE, bounds=_BOUNDS)
    async for part in await form.read(body.headers, body.receive):
        if part.filename is not None:
            return UploadForm(fields, part)
        fields.setdefault(part.name, field_text(await part.read(LARGEST_FIELD)))
    return UploadForm(fields, None)
