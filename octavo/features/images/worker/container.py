"""An image file as the parts that its format defines, each with its role.

The formats are read here before Pillow sees anything: truncation, dimensions and the number of
frames are found without decoding, and Pillow receives only the parts that make the picture. Text,
profiles, EXIF and previews never reach it, so bombs in them have no effect.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto

from octavo.features.images.worker.facts import MAX_PARTS, ImageFacts, InvalidImage


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
class ImageContainer(ABC):
    """An image file, read but not decoded.

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

    @abstractmethod
    def tiff_in(self, part: ImagePart) -> bytes:
        """Return the TIFF structure in a part of the role EXIF."""

    @abstractmethod
    def exif_part(self, tiff: bytes) -> ImagePart:
        """Return a part of the role EXIF with this TIFF structure."""

    @abstractmethod
    def icc_profile(self) -> bytes | None:
        """Return the ICC profile, or None if there is none or it is damaged."""


def truncated(name: str) -> InvalidImage:
    """Return the refusal of a file that ends too early, of the format ``name``."""
    return InvalidImage(f"The {name} file is truncated: it ends before the image is complete.")


def damaged(name: str, problem: str) -> InvalidImage:
    """Return the refusal of a file whose structure is invalid, of the format ``name``."""
    return InvalidImage(f"The {name} file is damaged: {problem}.")
