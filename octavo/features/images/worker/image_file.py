"""An accepted image: its parts and what is known of it, the bounds of acceptance, and the refusal.

This module does not import Pillow.
"""

from dataclasses import dataclass
from enum import Enum, auto

MAX_SIDE = 16_384
"""The largest width and height, in pixels."""
MAX_PIXELS = 50_000_000
"""The most pixels of an image: width times height. The frames of an animation share one canvas."""
MAX_WEBP_PIXELS = 24_000_000
"""The most pixels of one frame of a WebP image.

Pillow decodes WebP by libwebp's decoder of animations, which needs 16 bytes for each pixel of the
canvas: 24 million fit into 512 MB, and 50 million do not.
"""
MAX_FRAMES = 2_000
"""The most frames of an animation; nothing decodes all of them."""
MAX_PARTS = 100_000
"""The most chunks, segments or blocks of a file; a file of 32 MiB in usual chunks has 4,000."""

_HEADS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class InvalidImage(ValueError):
    """The file is not an acceptable image. The text is a sentence for the person who sent it."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """The format and the dimensions of an image.

    Attributes:
        media_type: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
        width: width in pixels. Of `inspect_image` it is that of the picture as it is shown, after
            the EXIF orientation; elsewhere as stored.
        height: height in pixels, likewise.
        frames: number of pictures of an animation, 1 for a still image. The default picture of an
            animated PNG counts also where it is not part of the animation. A JPEG has one: further
            pictures that follow its end (MPO) are ignored.
    """

    media_type: str
    width: int
    height: int
    frames: int


def media_type_of(head: bytes) -> str | None:
    """Return the media type that the first bytes of a file announce, or None.

    Args:
        head: the beginning of the file; 12 bytes are enough. It proves nothing about the rest.
    """
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _HEADS if head.startswith(magic)), None)


def check_bounds(facts: ImageFacts) -> None:
    """Raise InvalidImage if the dimensions or the number of frames exceed the bounds."""
    size = f"{facts.width:,} by {facts.height:,} pixels"
    if not (facts.width and facts.height and facts.frames):
        raise InvalidImage("The image is empty: its width, its height or its content is zero.")
    if max(facts.width, facts.height) > MAX_SIDE:
        raise InvalidImage(f"The image has {size}. At most {MAX_SIDE:,} a side are accepted.")
    if facts.frames > MAX_FRAMES:
        raise InvalidImage(
            f"The image has {facts.frames:,} frames. At most {MAX_FRAMES:,} are accepted."
        )
    if facts.width * facts.height > MAX_PIXELS:
        raise InvalidImage(
            f"The image has {size}. At most {MAX_PIXELS:,} pixels are accepted in total."
        )
    if facts.media_type == "image/webp" and facts.width * facts.height > MAX_WEBP_PIXELS:
        raise InvalidImage(
            f"The image has {size}. A frame of a WebP image has at most {MAX_WEBP_PIXELS:,} pixels."
        )


class PartRole(Enum):
    """What a part of an image file is for."""

    PICTURE = auto()  # needed to decode the pixels and to play the animation
    DISPLAY = auto()  # changes how the pixels appear: colour and density
    EXIF = auto()  # the orientation and the density, among many other tags
    OTHER = auto()  # text, previews, and everything unknown


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A chunk, segment or block of an image file.

    Attributes:
        name: its name in the format, for example ``IDAT``.
        role: what it is for.
        content: its bytes in the file, with length and checksum.
    """

    name: str
    role: PartRole
    content: bytes


class PartList:
    """Collects the parts of a file in order, and bounds their number."""

    def __init__(self) -> None:
        self.parts: list[ImagePart] = []

    def add(self, name: str, role: PartRole, content: bytes) -> None:
        """Append a part; raise InvalidImage when there are too many."""
        if len(self.parts) >= MAX_PARTS:
            raise InvalidImage(
                f"The file consists of too many parts. At most {MAX_PARTS:,} are accepted."
            )
        self.parts.append(ImagePart(name, role, content))


@dataclass(frozen=True, slots=True)
class ImageContainer:
    """An image file, read but not decoded; without methods of its own, it has no EXIF.

    Attributes:
        facts: what the headers of the file say; the bounds are not checked.
        parts: all parts, up to the end of the image.
        size: length of the file in bytes, with what follows the end of the image.
    """

    facts: ImageFacts
    parts: list[ImagePart]
    size: int

    def file_of(self, parts: list[ImagePart]) -> bytes:
        """Return a file that has only these parts of the image."""
        return b"".join(part.content for part in parts)

    def picture(self) -> bytes:
        """Return the file reduced to what is needed to decode it."""
        return self.file_of([part for part in self.parts if part.role is PartRole.PICTURE])

    def exif(self) -> bytes:
        """Return the TIFF structure of the EXIF data, or no bytes."""
        return next((self.tiff_in(p) for p in self.parts if p.role is PartRole.EXIF), b"")

    def tiff_in(self, part: ImagePart) -> bytes:
        """Return the TIFF structure in a part of the role EXIF."""
        raise NotImplementedError

    def exif_part(self, tiff: bytes) -> ImagePart:
        """Return a part of the role EXIF with this TIFF structure."""
        raise NotImplementedError

    def icc_profile(self) -> bytes | None:
        """Return the ICC profile that viewers apply; None without one, or if it is damaged."""
        return None


def truncated(name: str) -> InvalidImage:
    """Return the refusal of a file that ends too early, of the format ``name``."""
    return InvalidImage(f"The {name} file is truncated: it ends before the image is complete.")


def damaged(name: str, problem: str) -> InvalidImage:
    """Return the refusal of a file whose structure is invalid, of the format ``name``."""
    return InvalidImage(f"The {name} file is damaged: {problem}.")
