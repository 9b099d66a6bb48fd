"""The second step of an import, for images: extract and decode them."""

import hashlib
import os

from octavo.archives.checked_files import CheckedImage, image_record
from octavo.archives.entry_reader import pieces_of_entry
from octavo.archives.listing import ImportFolder, ListedEntry, entries_in
from octavo.archives.part_files import PartFiles
from octavo.archives.refusal import refused_entry
from octavo.images.inspection import InvalidImage, inspect_image
from octavo.model.files.image import check_image_path
from octavo.model.identity import Digest
from octavo.model.refusal import InvalidPath


def check_images(parts: list[str], folder: str, begin: int, end: int) -> str:
    """Extract the images of a slice of the listing, and return the file of their records.

    It is for a worker process. The images are durable files in ``folder``.

    Args:
        parts: the files that make the archive, in order.
        folder: the folder of the survey.
        begin: where the slice begins in the listing.
        end: where it ends.

    Raises:
        ArchiveInvalid: an image is damaged, exceeds a limit, or is of another type than its name.
        OSError: a file can't be read or written.
    """
    place = ImportFolder(folder)
    records = place.checked("images", begin)
    with PartFiles(parts) as source, open(records, "wb") as written:
        for entry in entries_in(place.images, begin, end):
            image = _checked(source, entry, place.image(entry.offset))
            written.write(image_record(image))
    return records


def _checked(source: PartFiles, entry: ListedEntry, file: str) -> CheckedImage:
    digest = hashlib.sha256()
    with open(file, "wb") as image:
        for piece in pieces_of_entry(source, entry):
            digest.update(piece)
            image.write(piece)
        image.flush()
        os.fsync(image.fileno())
    try:
        facts = inspect_image(file)
        check_image_path(entry.final, facts.media_type)
    except InvalidImage as error:
        raise refused_entry(entry.path, str(error)) from None
    except InvalidPath as error:
        raise refused_entry(entry.path, error.detail) from None
    return CheckedImage(
        entry.final,
        file,
        Digest(digest.hexdigest()),
        entry.crc,
        entry.size,
        facts.media_type,
        facts.width,
        facts.height,
        facts.frames,
    )
