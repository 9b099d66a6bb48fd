"""GIF87a and GIF89a as blocks."""

import struct

from octavo.features.images.worker import image_file
from octavo.features.images.worker.image_file import ImageFacts, InvalidImage, PartRole

MAX_SUB_BLOCKS = 500_000
"""The most sub-blocks of a file; one of 32 MiB has 130,000 in the usual length of 255 bytes."""

_SCREEN_END = 13
_ROLES = {0xF9: PartRole.PICTURE, 0x01: PartRole.PICTURE}  # graphic control, plain text
_APPLICATIONS = {
    b"NETSCAPE2.0": PartRole.PICTURE,  # how often the animation repeats
    b"ANIMEXTS1.0": PartRole.PICTURE,
    b"ICCRGBG1012": PartRole.DISPLAY,
}


def read_gif(data: bytes) -> image_file.ImageContainer:
    """Return the blocks of a GIF file; raise InvalidImage if it is not a complete one.

    A frame outside of the logical screen is refused, because viewers disagree about what it shows.
    """
    blocks = _GifBlocks(data)
    parts = image_file.PartList()
    if len(data) < _SCREEN_END:
        raise image_file.truncated("GIF")
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    start = blocks.within(_SCREEN_END + _table_length(flags))
    parts.add("screen", PartRole.PICTURE, data[:start])
    frames = 0
    while (kind := blocks.byte(start)) != 0x3B:
        if kind == 0x2C:
            end = blocks.image(start, width, height)
            parts.add("image", PartRole.PICTURE, data[start:end])
            frames += 1
        elif kind == 0x21:
            label = blocks.byte(start + 1)
            end = blocks.sub_blocks_end(start + 2)
            if label == 0xFF:
                role = _APPLICATIONS.get(data[start + 3 : start + 14], PartRole.OTHER)
            else:
                role = _ROLES.get(label, PartRole.OTHER)
            parts.add("extension", role, data[start:end])
        else:
            raise image_file.damaged("GIF", "a block has an unknown type")
        start = end
    parts.add("trailer", PartRole.PICTURE, b";")
    return image_file.ImageContainer(
        ImageFacts("image/gif", width, height, frames), parts.parts, len(data)
    )


def _table_length(flags: int) -> int:
    """Return the length of the colour table that the flags of a descriptor announce, in bytes."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


class _GifBlocks:
    """Finds where blocks end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._sub_blocks = 0

    def within(self, end: int) -> int:
        """Return ``end``; raise InvalidImage if the file is shorter."""
        if end > len(self._data):
            raise image_file.truncated("GIF")
        return end

    def byte(self, at: int) -> int:
        """Return a byte; raise InvalidImage if the file ends before it."""
        return self._data[self.within(at + 1) - 1]

    def image(self, start: int, width: int, height: int) -> int:
        """Return the end of the frame that begins at ``start``, on a screen of the given size."""
        table = self.within(start + 10)
        x, y, frame_width, frame_height, flags = struct.unpack_from("<HHHHB", self._data, start + 1)
        if not (frame_width and frame_height):
            raise image_file.damaged("GIF", "a frame is empty")
        if x + frame_width > width or y + frame_height > height:
            raise image_file.damaged("GIF", "a frame is outside of the image")
        return self.sub_blocks_end(table + _table_length(flags) + 1)

    def sub_blocks_end(self, start: int) -> int:
        """Return the end of a sequence of sub-blocks, after its empty one."""
        data, end, at = self._data, len(self._data), start
        while at < end and (length := data[at]):
            at += 1 + length
            self._sub_blocks += 1
            if self._sub_blocks > MAX_SUB_BLOCKS:
                raise InvalidImage(
                    f"The GIF file has too many blocks. At most {MAX_SUB_BLOCKS:,} are accepted."
                )
        return self.within(at + 1)
