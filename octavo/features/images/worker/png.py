"""PNG and APNG (W3C Portable Network Graphics, third edition) as chunks."""

import struct
import zlib
from dataclasses import dataclass

from octavo.features.images.worker import image_file
from octavo.features.images.worker.image_file import ImageFacts, ImagePart, InvalidImage, PartRole

MAX_EXPANDED = 1024 * 1024
"""How many bytes the compressed texts and the colour profile may have together, expanded."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PICTURE = ("IHDR", "PLTE", "tRNS", "acTL", "fcTL", "IDAT", "fdAT", "IEND")
_COLOUR = ("bKGD", "cHRM", "cICP", "cLLI", "gAMA", "hIST", "iCCP", "mDCV", "sBIT", "sPLT", "sRGB")
_ROLES = {
    **dict.fromkeys(_PICTURE, PartRole.PICTURE),
    **dict.fromkeys((*_COLOUR, "pHYs"), PartRole.DISPLAY),
    "eXIf": PartRole.EXIF,
}
_HEADER_LENGTH = 13
_FRAME_LENGTH = 26


@dataclass(frozen=True, slots=True)
class PngContainer(image_file.ImageContainer):
    """A PNG file."""

    def tiff_in(self, part: ImagePart) -> bytes:
        """Return the content of a chunk eXIf, which is the TIFF structure."""
        return _body(part.content)

    def exif_part(self, tiff: bytes) -> ImagePart:
        """Return a chunk eXIf with its checksum."""
        content = struct.pack(">I", len(tiff)) + b"eXIf" + tiff
        checksum = struct.pack(">I", zlib.crc32(content[4:]))
        return ImagePart("eXIf", PartRole.EXIF, content + checksum)

    def icc_profile(self) -> bytes | None:
        """Return the expanded profile of the chunk iCCP."""
        body = next((_body(part.content) for part in self.parts if part.name == "iCCP"), None)
        if body is None:
            return None
        try:
            return zlib.decompressobj().decompress(_compressed("iCCP", body), MAX_EXPANDED)
        except zlib.error:
            return None


def read_png(data: bytes) -> PngContainer:
    """Return the chunks of a PNG file; raise InvalidImage if it is not a complete one.

    The checksum of every chunk is verified. A chunk that is not known and critical, and frames
    without the chunk acTL, are refused: viewers disagree about what such a file shows.
    """
    parts = image_file.PartList()
    parts.add("signature", PartRole.PICTURE, _SIGNATURE)
    size: tuple[int, int] | None = None
    animation: int | None = None
    frames, expanded, start = 0, 0, len(_SIGNATURE)
    is_default_separate = seen_data = False
    while True:
        name, body, end = _chunk(data, start)
        if (name == "IHDR") is not (size is None):
            raise image_file.damaged("PNG", "it does not have exactly one header, at its beginning")
        if name == "IHDR":
            if len(body) != _HEADER_LENGTH:
                raise image_file.damaged("PNG", "its header has a wrong length")
            size = struct.unpack_from(">II", body)
        elif name == "acTL":
            if animation is not None or seen_data or len(body) != 8:
                raise image_file.damaged("PNG", "the header of its animation is misplaced")
            animation = struct.unpack_from(">I", body)[0]
        elif name in ("fcTL", "fdAT") and animation is None:
            raise image_file.damaged("PNG", "it has frames, but no header of an animation")
        elif name == "fcTL":
            _check_frame(body, size)
            frames += 1
        elif name == "IDAT" and not seen_data:
            seen_data, is_default_separate = True, frames == 0 and animation is not None
        role = _ROLES.get(name, PartRole.OTHER)
        if role is PartRole.OTHER and name[0].isupper():
            raise InvalidImage(f"The PNG file is not supported: its chunk {name} is unknown.")
        if name in ("iCCP", "iTXt", "zTXt"):
            expanded += _expanded(_compressed(name, body), MAX_EXPANDED - expanded)
        parts.add(name, role, data[start:end])
        start = end
        if name == "IEND":
            break
    if not seen_data:
        raise image_file.damaged("PNG", "it has no image data")
    if animation is not None and animation != frames:
        raise image_file.damaged(
            "PNG", f"it has another number of frames ({frames:,}) than it announces ({animation:,})"
        )
    width, height = size or (0, 0)
    count = frames + is_default_separate if animation is not None else 1
    return PngContainer(ImageFacts("image/png", width, height, count), parts.parts, len(data))


def _chunk(data: bytes, start: int) -> tuple[str, bytes, int]:
    """Return the name and the content of a chunk, and where the next one begins."""
    if start + 12 > len(data):
        raise image_file.truncated("PNG")
    length, name = struct.unpack_from(">I4s", data, start)
    if not name.isalpha():
        raise image_file.damaged("PNG", "the name of a chunk is invalid")
    end = start + 12 + length
    if end > len(data):
        raise image_file.truncated("PNG")
    if zlib.crc32(memoryview(data)[start + 4 : end - 4]) != int.from_bytes(data[end - 4 : end]):
        raise image_file.damaged("PNG", f"the checksum of a chunk {name.decode()} is wrong")
    return name.decode(), data[start + 8 : end - 4], end


def _check_frame(body: bytes, size: tuple[int, int] | None) -> None:
    if len(body) != _FRAME_LENGTH:
        raise image_file.damaged("PNG", "the header of a frame has a wrong length")
    width, height, x, y = struct.unpack_from(">IIII", body, 4)
    canvas = size or (0, 0)
    if not (width and height) or x + width > canvas[0] or y + height > canvas[1]:
        raise image_file.damaged("PNG", "a frame is empty or outside of the image")


def _body(chunk: bytes) -> bytes:
    return chunk[8:-4]


def _compressed(name: str, body: bytes) -> bytes:
    """Return the compressed data of a chunk of text or of the profile; no bytes if it has none."""
    _, _, rest = body.partition(b"\0")
    if name == "iTXt":
        if rest[:1] != b"\1":
            return b""
        return rest[2:].partition(b"\0")[2].partition(b"\0")[2]
    return rest[1:]


def _expanded(compressed: bytes, at_most: int) -> int:
    """Return the expanded length of ``compressed``; raise InvalidImage if it is larger."""
    try:
        expanded = zlib.decompressobj().decompress(compressed, at_most + 1)
    except zlib.error:
        return 0
    if len(expanded) > at_most:
        raise InvalidImage(
            "The compressed texts and the colour profile of the PNG file are larger than "
            f"{MAX_EXPANDED:,} bytes in total."
        )
    return len(expanded)
