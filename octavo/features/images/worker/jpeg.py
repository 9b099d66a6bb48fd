"""JPEG (ITU-T T.81) as segments, with JFIF, Adobe, ICC and EXIF segments."""

import re
import struct
from dataclasses import dataclass

from octavo.features.images.worker import image_file
from octavo.features.images.worker.image_file import ImageFacts, ImagePart, InvalidImage, PartRole

MAX_SCANS = 100
"""The most scans of a progressive JPEG; encoders write 10.

Decoding visits every pixel in each scan, and a scan can have a few bytes.
"""
MAX_COEFFICIENTS = 320_000_000
"""How many bytes the coefficients of all scans may need; the decoder holds them in memory.

A progressive JPEG of 50 million pixels without chroma subsampling needs 300 million.
"""

_EXIF = b"Exif\0\0"
_ICC = b"ICC_PROFILE\0"
# In the data of a scan, FF 00 stands for a byte FF, and FF D0 to FF D7 restart the decoder. More
# bytes FF may precede any marker.
_MARKER = re.compile(rb"\xff+([^\x00\xd0-\xd7\xff])")
_SOI, _EOI, _SOS = 0xD8, 0xD9, 0xDA
_TABLES = {0xC4: "DHT", 0xDB: "DQT", 0xDD: "DRI"}
_FRAMES = {0xC0, 0xC1, 0xC2}  # baseline, extended and progressive, in Huffman coding
_UNSUPPORTED = {0xC3, *range(0xC5, 0xC8), *range(0xC9, 0xD0), 0xDC, 0xDE, 0xDF}
_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD8), _SOI}


@dataclass(frozen=True, slots=True)
class JpegContainer(image_file.ImageContainer):
    """A JPEG file."""

    def tiff_in(self, part: ImagePart) -> bytes:
        """Return the TIFF structure of a segment APP1."""
        return part.content[4 + len(_EXIF) :]

    def exif_part(self, tiff: bytes) -> ImagePart:
        """Return a segment APP1."""
        content = b"\xff\xe1" + struct.pack(">H", 2 + len(_EXIF) + len(tiff)) + _EXIF + tiff
        return ImagePart("APP1", PartRole.EXIF, content)

    def icc_profile(self) -> bytes | None:
        """Return the profile of the segments APP2, which number themselves from 1."""
        prefix = 4 + len(_ICC)
        pieces = sorted(
            (part.content[prefix], part.content[prefix + 1], part.content[prefix + 2 :])
            for part in self.parts
            if part.name == "ICC"
        )
        numbers = [(number, total) for number, total, _ in pieces]
        if not pieces or numbers != [(n, len(pieces)) for n in range(1, len(pieces) + 1)]:
            return None
        return b"".join(piece for _, _, piece in pieces)


def read_jpeg(data: bytes) -> JpegContainer:
    """Return the segments of the first image in a JPEG file; raise InvalidImage if it is damaged.

    What follows the end of the first image is ignored: further pictures (MPO), videos, padding.
    Only the processes that browsers show are accepted: Huffman-coded DCT, in 8 bits.
    """
    parts = image_file.PartList()
    parts.add("SOI", PartRole.PICTURE, b"\xff\xd8")
    size: tuple[int, int] | None = None
    sampling = b""
    scans, start = 0, 2
    while True:
        match = _MARKER.search(data, start)
        if match is None:
            raise image_file.truncated("JPEG")
        start, marker = match.end() - 2, match[1][0]
        if marker == _EOI:
            break
        if marker in _WITHOUT_LENGTH:
            raise image_file.damaged("JPEG", "a marker is misplaced")
        end = _segment_end(data, start)
        if marker in _UNSUPPORTED:
            raise InvalidImage("The JPEG file is not supported: it uses a rare form of coding.")
        if marker in _FRAMES:
            if size is not None or end < start + 10:
                raise image_file.damaged("JPEG", "it does not have exactly one valid header")
            height, width = struct.unpack_from(">HH", data, start + 5)
            size, sampling = (width, height), data[start + 9 : end]
            parts.add("SOF", PartRole.PICTURE, data[start:end])
        elif marker == _SOS:
            scans += 1
            if scans > MAX_SCANS:
                raise InvalidImage(
                    f"The JPEG file has too many scans. At most {MAX_SCANS:,} are accepted."
                )
            following = _MARKER.search(data, end)
            if following is None:
                raise image_file.truncated("JPEG")
            end = following.start()
            parts.add("SOS", PartRole.PICTURE, data[start:end])
        elif marker in _TABLES:
            parts.add(_TABLES[marker], PartRole.PICTURE, data[start:end])
        else:
            _add_application(parts, marker, data[start:end])
        start = end
    if size is None or not scans:
        raise image_file.damaged("JPEG", "it has no image data")
    parts.add("EOI", PartRole.PICTURE, b"\xff\xd9")
    facts = ImageFacts("image/jpeg", *size, 1)
    image_file.check_bounds(facts)
    if scans > 1 and _coefficients(facts, sampling) > MAX_COEFFICIENTS:
        raise InvalidImage(
            "The JPEG file needs too much memory: it is progressive, and for that has too many "
            "pixels or colour channels."
        )
    return JpegContainer(facts, parts.parts, len(data))


def _coefficients(facts: ImageFacts, sampling: bytes) -> int:
    """Return how many bytes the coefficients of an image need.

    Args:
        facts: the dimensions of the image.
        sampling: the number of components, then three bytes for each, of which the second has the
            sampling factors (T.81 B.2.2).
    """
    factors = [divmod(pair, 16) for pair in sampling[2::3]]
    largest = max((x for x, _ in factors), default=0) * max((y for _, y in factors), default=0)
    if not largest:
        raise image_file.damaged("JPEG", "its header is invalid")
    samples = facts.width * facts.height * sum(x * y for x, y in factors) // largest
    return 2 * samples


def _segment_end(data: bytes, start: int) -> int:
    if start + 4 > len(data):
        raise image_file.truncated("JPEG")
    length = int.from_bytes(data[start + 2 : start + 4])
    if length < 2:
        raise image_file.damaged("JPEG", "the length of a segment is invalid")
    if start + 2 + length > len(data):
        raise image_file.truncated("JPEG")
    return start + 2 + length


def _add_application(parts: image_file.PartList, marker: int, segment: bytes) -> None:
    """Add an application segment or a comment; previews in JFIF are removed."""
    body = segment[4:]
    if marker == 0xE0 and body[:5] == b"JFIF\0" and len(body) >= 14:
        fields = body[:12] + b"\0\0"  # the last two are the size of the preview that follows
        parts.add("JFIF", PartRole.PICTURE, b"\xff\xe0\x00\x10" + fields)
    elif marker == 0xEE and body[:5] == b"Adobe" and len(body) >= 12:
        parts.add("Adobe", PartRole.PICTURE, b"\xff\xee\x00\x0e" + body[:12])
    elif marker == 0xE2 and body[: len(_ICC)] == _ICC and len(body) > len(_ICC) + 2:
        parts.add("ICC", PartRole.DISPLAY, segment)
    elif marker == 0xE1 and body[: len(_EXIF)] == _EXIF:
        parts.add("APP1", PartRole.EXIF, segment)
    else:
        parts.add("APP", PartRole.OTHER, segment)
