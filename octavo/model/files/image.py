"""Images as the contents of attachments."""

from collections.abc import Mapping
from typing import NamedTuple, NewType

from octavo_rules.identity import Digest, FileId
from octavo_rules.problems import BodyTooLarge, NotFound, Problem, UnsupportedMediaType

from octavo.model.files.path import ATTACHMENTS, check_path
from octavo.model.refusal import InvalidPath

ObjectId = NewType("ObjectId", str)
"""The id of an uploaded image that no file has yet."""

IMAGE_NAMES: Mapping[str, str] = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WebP",
}
"""What people call the accepted images, by their media types."""
MEDIA_TYPES = tuple(IMAGE_NAMES)
"""The accepted images."""

_ENDINGS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


class MediaTypeMismatch(UnsupportedMediaType):
    """The file is no accepted image, or its name or declared type says something else."""


class UnacceptableImage(Problem):
    """The image is damaged, or exceeds a limit."""

    status, code = 422, "invalid_image"
    summary = "The file is not an acceptable image."
    remedy = (
        "The detail says whether it is damaged, or which limit it exceeds. Save it again in "
        "another program, or make it smaller."
    )


class ImageTooLarge(BodyTooLarge):
    """The image has too many bytes."""

    def __init__(self, largest: int) -> None:
        super().__init__(f"An image may have at most {largest} bytes: make it smaller.")


class UploadMissing(NotFound):
    """The uploaded image does not exist, has expired, or was attached already."""

    def __init__(self, file_id: FileId | None = None) -> None:
        super().__init__(
            "There is no such uploaded image: it has expired, was attached already, or belongs to"
            " another workspace. Upload it again."
        )
        self.file_id = file_id


class DigestMismatch(UnacceptableImage):
    """The bytes do not have the digest that was declared."""

    detail = (
        "The bytes do not have the declared digest: they were changed on the way, or the"
        " digest is of another file. Send the file again."
    )


class UploadedImage(NamedTuple):
    """An image that was uploaded, and proven to be one. It can be attached once.

    Attributes:
        object_id: the id of the upload.
        digest: the SHA-256 digest of its bytes.
        size: in bytes.
        media_type: one of `MEDIA_TYPES`.
        width, height: in pixels.
        frames: 1 for an image that does not move.
    """

    object_id: ObjectId
    digest: Digest
    size: int
    media_type: str
    width: int
    height: int
    frames: int


def media_type_of_name(name: str) -> str | None:
    """Return the media type that the ending of a file name stands for; None for no image."""
    return _ENDINGS.get(name[max(name.rfind("."), 0) :].lower())


def check_image_path(path: str, media_type: str, kept: str = "") -> None:
    """Raise `InvalidPath` unless an image of ``media_type`` can get ``path``.

    It is below attachments/, and its ending, by which programs recognise the image, is that of the
    media type. For ``kept`` see `check_path`.
    """
    check_path(path, kept)
    if not path.startswith(ATTACHMENTS):
        raise InvalidPath("The path of an image must be below attachments/.")
    if media_type_of_name(path) == media_type:
        return
    raise InvalidPath(
        f"The path of a {IMAGE_NAMES[media_type]} image must end with {endings_of(media_type)}."
    )


def endings_of(media_type: str) -> str:
    """Return the endings of the names of images of a type, as a sentence names them."""
    return " or ".join(ending for ending, media in _ENDINGS.items() if media == media_type)
