"""The second step of an import, for images: extract and decode them."""

import hashlib
import math
import os

from octavo_rules.identity import Digest

from octavo.features.archives.worker import listing
from octavo.features.archives.worker.checked_files import CheckedImage, image_record
from octavo.features.archives.worker.entry_reader import pieces_of_entry
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.refusal import refused_entry
from octavo.features.images.worker import tasks
from octavo.features.images.worker.image_file import InvalidImage
from octavo.model.files.image import check_image_path
from octavo.model.refusal import InvalidPath


def check_images(
    parts: list[str],
    folder: str,
    begin: int,
    end: int,
    *,
    removes_metadata: bool,
    seconds: float = math.inf,
) -> listing.CheckedSlice:
    """Extract the images of a slice of the listing, and write their records to a file.

    It is for a worker process. The images are durable files in ``folder``.

    Args:
        parts: the files that make the archive, in order.
        folder: the folder of the survey.
        begin: where the slice begins in the listing.
        end: where it ends.
        removes_metadata: remove what identifies people and places from the images.
        seconds: processor time after which the rest of the slice is left for another call.

    Raises:
        ArchiveInvalid: an image is damaged, exceeds a limit, or is of another type than its name.
        OSError: a file can't be read or written.
    """
    place = listing.ImportFolder(folder)
    records = place.checked("images", begin)
    with PartFiles(parts) as source, open(records, "wb") as written:
        reader = listing.SliceReader(place.images, begin, end, seconds)
        for entry in reader:
            image = _checked(
                source, entry, place.image(entry.offset), removes_metadata=removes_metadata
            )
            written.write(image_record(image))
    return records, reader.reached


def _checked(
    source: PartFiles, entry: listing.ListedEntry, file: str, *, removes_metadata: bool
) -> CheckedImage:
    digest = hashlib.sha256()
    with open(file, "wb") as image:
        for piece in pieces_of_entry(source, entry):
            digest.update(piece)
            image.write(piece)
        image.flush()
        os.fsync(image.fileno())
    try:
        if removes_metadata:
            facts = tasks.inspect_without_metadata(file, f"{file}.out")
        else:
            facts = tasks.inspect_file(file)
        check_image_path(entry.final, str(facts["media_type"]))
    except InvalidImage as error:
        raise refused_entry(entry.path, str(error)) from None
    except InvalidPath as error:
        raise refused_entry(entry.path, error.detail) from None
    checked = CheckedImage(
        entry.final,
        file,
        Digest(digest.hexdigest()),
        entry.crc,
        entry.size,
        str(facts["media_type"]),
        int(facts["width"]),
        int(facts["height"]),
        int(facts["frames"]),
    )
    if "digest" not in facts:
        return checked
    os.replace(f"{file}.out", file)
    return checked._replace(
        digest=Digest(str(facts["digest"])), crc=int(facts["crc"]), size=int(facts["size"])
    )
