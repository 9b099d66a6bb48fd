"""The parts of the service that create, read and change notes and images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.access.entropy import new_id, now
from octavo.actors.workspace.current_files import MAX_BYTES
from octavo.features.files.api.attachments import AttachmentOperations, UploadedImages
from octavo.features.files.api.changeset_submission import ChangesetSubmitter, Workspaces
from octavo.features.files.api.changesets import ChangesetOperations, SaveOperations
from octavo.features.files.api.contents import ContentOperations
from octavo.features.files.api.files import FileOperations, RevisionTexts
from octavo.features.files.api.reading import CurrentTexts, ReadingOperations, current_texts
from octavo.kernel import Feature, Kernel, Parts

if TYPE_CHECKING:
    from octavo.features.images.feature import Images
    from octavo.features.usage.feature import Usage

FEATURE = Feature(
    "files",
    operations=[
        FileOperations,
        SaveOperations,
        ChangesetOperations,
        ReadingOperations,
        AttachmentOperations,
        ContentOperations,
    ],
)


@dataclass(frozen=True)
class Files:
    """What other features use: the submission of changesets, and the cached texts."""

    parts: Parts
    submitter: ChangesetSubmitter
    texts: CurrentTexts


def files_feature(kernel: Kernel, usage: Usage, images: Images, workspaces: Workspaces) -> Files:
    """Return the feature; nothing runs yet."""
    store = kernel.store
    submitter = ChangesetSubmitter(workspaces, kernel.access, new_id)
    revisions = RevisionTexts(store, submitter.access)
    uploaded = UploadedImages(store, submitter.access, now)
    # Several processes cache nothing: one would not learn what another one deletes.
    texts = current_texts(workspaces, store, 0 if kernel.shared else MAX_BYTES)
    kernel.after.erased.listen(texts.forget)
    parts = Parts(
        operations=[
            FileOperations(submitter, revisions),
            SaveOperations(submitter, usage.metering, store),
            ChangesetOperations(submitter, store, uploaded),
            ReadingOperations(submitter, store, usage.metering, texts),
            AttachmentOperations(submitter, images.uploads, uploaded, revisions),
            ContentOperations(
                store, kernel.blobs, images.thumbnails, kernel.access, usage.metering
            ),
        ],
        caches=[texts.cache],
    )
    return Files(parts, submitter, texts)
