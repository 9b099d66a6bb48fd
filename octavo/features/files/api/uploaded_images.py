"""Find the uploaded images that changes attach."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from octavo_rules.identity import Digest, FileId, WorkspaceId

from octavo.access.workspaces import Access
from octavo.features.images.sql import uploads
from octavo.http.contract.call import Call
from octavo.model.files.image import ObjectId, UploadedImage, UploadMissing
from octavo.store import Store


class UploadedImages(NamedTuple):
    """Finds uploads for members who may change the workspace.

    Attributes:
        store: the database.
        access: checks the members.
        now: the clock, in seconds of Unix time.
    """

    store: Store
    access: Access
    now: Callable[[], float]

    async def find(
        self, call: Call, workspace_id: WorkspaceId, named: Mapping[FileId, ObjectId]
    ) -> dict[ObjectId, UploadedImage]:
        """Return the uploads of the files that get them.

        Raises `NotFound` or `Forbidden` for callers that may not change the workspace, and
        `UploadMissing` when one does not exist, has expired, or was attached.
        """
        if not named:
            return {}
        await self.access.require(call, workspace_id, "write")
        script = uploads.find(workspace_id, [*named.values()], int(self.now() * 1000))
        found = await self.store.read(script)
        for file_id, object_id in named.items():
            if object_id not in found:
                # Empty for an id that the server chooses.
                raise UploadMissing(file_id or None)
        return found


def unknown_image(object_id: ObjectId) -> UploadedImage:
    """Return a placeholder for an upload that is gone, to recognise a repeated change."""
    return UploadedImage(object_id, Digest(""), 0, "", 0, 0, 0)
