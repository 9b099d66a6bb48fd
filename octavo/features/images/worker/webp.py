"""WebP (RFC 9649) as chunks."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from octavo.features.images.worker import image_file
from octavo.features.images.worker.image_file import ImageFacts, ImagePart, PartRole

_HEADER_LENGTH = 12
_ICC_FLAG, _ALPHA_FLAG, _EXIF_FLAG, _XMP_FLAG, _ANIMATION_FLAG = 0x20, 0x10, 0x08, 0x04, 0x02
_BITSTREAMS = ("VP8 ", "VP8L")
_FRAME_PARTS = ("ALPH", *_BITSTREAMS)
_ROLES = {
    **dict.fromkeys(("VP8X", "ANIM", "ANMF", *_FRAME_PARTS), PartRole.PICTURE),
    "ICCP": PartRole.DISPLAY,
    "EXIF": PartRole.EXIF,
}
_EXIF_PREFIX = b"Exif\0\0"  # some encoders write it, as in JPEG


@dataclass(frozen=True, slots=True)
class WebpContainer(image_file.ImageContainer):
    """A WebP file."""

    def file_of(self, parts: list[ImagePart]) -> bytes:
        """Return a file with these chunks, and with the flags that say which are there."""
        names = {part.name for part in parts}
        chunks = b"".join(
            _with_flags(part.content, names) if part.name == "VP8X" else part.content
            for part in parts
        )
        return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WEBP" + chunks

    def tiff_in(self, part: ImagePart) -> bytes:
        """Return the TIFF structure of a chunk EXIF."""
        return _body(part.content).removeprefix(_EXIF_PREFIX)

    def exif_part(self, tiff: bytes) -> ImagePart:
        """Return a chunk EXIF."""
        return ImagePart("EXIF", PartRole.EXIF, _packed("EXIF", tiff))

    def icc_profile(self) -> bytes | None:
        """Return the profile of the chunk ICCP."""
        return next((_body(part.content) for part in self.parts if part.name == "ICCP"), None)


def read_webp(data: bytes) -> WebpContainer:
    """Return the chunks of a WebP file; raise InvalidImage if it is not a complete one."""
    if len(data) < _HEADER_LENGTH:
        raise image_file.truncated("WebP")
    end = 8 + int.from_bytes(data[4:8], "little")
    if end > len(data):
        raise image_file.truncated("WebP")
    parts = image_file.PartList()
    canvas: tuple[int, int] | None = None
    frames = stills = 0
    is_animated = False
    for name, body in _chunks(data[_HEADER_LENGTH:end]):
        content = _packed(name, body)
        if name == "VP8X":
            if parts.parts or len(body) < 10:
                raise image_file.damaged("WebP", "its header is misplaced")
            is_animated = bool(body[0] & _ANIMATION_FLAG)
            canvas = 1 + _uint24(body, 4), 1 + _uint24(body, 7)
        elif name == "ANMF":
            content = _packed(name, _frame(body, canvas))
            frames += 1
        elif name in _BITSTREAMS:
            canvas = canvas or _bitstream_size(name, body)
            stills += 1
        parts.add(name, _ROLES.get(name, PartRole.OTHER), content)
    if canvas is None or (frames, stills) != ((frames or -1, 0) if is_animated else (0, 1)):
        raise image_file.damaged(
            "WebP", "it does not have the image data that its header announces"
        )
    facts = ImageFacts("image/webp", *canvas, frames or 1)
    return WebpContainer(facts, parts.parts, len(data))


def _chunks(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each chunk."""
    start = 0
    while start < len(data):
        if start + 8 > len(data):
            raise image_file.truncated("WebP")
        name, length = struct.unpack_from("<4sI", data, start)
        body = data[start + 8 : start + 8 + length]
        if len(body) < length:
            raise image_file.truncated("WebP")
        yield name.decode("latin-1"), body
        start += 8 + length + length % 2


def _packed(name: str, body: bytes) -> bytes:
    padding = b"\0" * (len(body) % 2)
    return name.encode("latin-1") + struct.pack("<I", len(body)) + body + padding


def _body(chunk: bytes) -> bytes:
    return chunk[8 : 8 + int.from_bytes(chunk[4:8], "little")]


def _with_flags(chunk: bytes, names: set[str]) -> bytes:
    """Return the chunk VP8X with the flags of metadata for chunks of these names."""
    flags = chunk[8] & (_ALPHA_FLAG | _ANIMATION_FLAG)
    flags |= _ICC_FLAG if "ICCP" in names else 0
    flags |= _EXIF_FLAG if "EXIF" in names else 0
    flags |= _XMP_FLAG if "XMP " in names else 0
    return chunk[:8] + bytes((flags,)) + chunk[9:]


def _uint24(body: bytes, at: int) -> int:
    return int.from_bytes(body[at : at + 3], "little")


def _frame(body: bytes, canvas: tuple[int, int] | None) -> bytes:
    """Return the content of a chunk ANMF without unknown chunks in it."""
    if len(body) < 16 or canvas is None:
        raise image_file.damaged("WebP", "a frame has no valid header")
    x, y = 2 * _uint24(body, 0), 2 * _uint24(body, 3)
    width, height = 1 + _uint24(body, 6), 1 + _uint24(body, 9)
    if x + width > canvas[0] or y + height > canvas[1]:
        raise image_file.damaged("WebP", "a frame is outside of the image")
    kept = (_packed(*chunk) for chunk in _chunks(body[16:]) if chunk[0] in _FRAME_PARTS)
    return body[:16] + b"".join(kept)


def _bitstream_size(name: str, body: bytes) -> tuple[int, int]:
    """Return the width and the height in the header of a lossy or lossless bitstream."""
    if name == "VP8 " and len(body) >= 10 and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 6)
        return width & 0x3FFF, height & 0x3FFF
    if name == "VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    raise image_file.damaged("WebP", "the header of its image data is invalid")
