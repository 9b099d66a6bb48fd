"""Images and archives against a real server."""

from pathlib import Path

import pytest
from octavo_client import (
    Attach,
    Client,
    Create,
    HeadMovedError,
    NotFoundError,
    ProblemError,
    WorkspaceClient,
)
from octavo_rules.identity import FileId, RevisionId

from tests.fakes.image_files import encoded, picture

PNG = encoded(picture((200, 100)), "PNG")
OTHER = encoded(picture((20, 30), seed=1), "PNG")


async def content(workspace: WorkspaceClient, file_id: FileId, **of: int) -> bytes:
    async with workspace.read_content(file_id, **of) as found:  # type: ignore[arg-type]
        return b"".join([chunk async for chunk in found])


async def test_image_is_uploaded_attached_and_replaced(
    workspace: WorkspaceClient, tmp_path: Path
) -> None:
    (tmp_path / "cup.png").write_bytes(PNG)
    upload = await workspace.upload_image(tmp_path / "cup.png", "cup.png", "image/png")
    assert (upload.media_type, upload.width, upload.height, upload.frames) == (
        "image/png",
        200,
        100,
        1,
    )
    made = await workspace.attach(upload.object_id, "attachments/cup.png")
    assert (made.outcome, made.revision.media_type) == ("created", "image/png")
    assert await content(workspace, made.file_id) == PNG
    assert await content(workspace, made.file_id, start=4, stop=9) == PNG[4:9]
    assert (await content(workspace, made.file_id, width=160))[8:12] == b"WEBP"
    again = await workspace.upload_image(OTHER, "new.png", "image/png")
    with pytest.raises(HeadMovedError):
        await workspace.attach(
            again.object_id, "attachments/cup.png", made.file_id, RevisionId(made.file_id)
        )
    replaced = await workspace.attach(
        again.object_id, "attachments/cup.png", made.file_id, made.revision.id
    )
    assert replaced.file_id == made.file_id
    assert await workspace.download(made.file_id, tmp_path / "new.png") == len(OTHER)
    assert (tmp_path / "new.png").read_bytes() == OTHER
    async with workspace.read_content(made.file_id, revision_id=made.revision.id) as earlier:
        assert (earlier.media_type, earlier.size) == ("image/png", len(PNG))
    with pytest.raises(NotFoundError):
        await workspace.attach(again.object_id, "attachments/more.png")


async def test_image_is_attached_in_a_changeset(workspace: WorkspaceClient) -> None:
    upload = await workspace.upload_image(PNG, "cup.png", "image/png")
    note, image = workspace.new_file_id(), workspace.new_file_id()
    result = await workspace.push(
        [
            Create(note, "Tea.md", "![](attachments/cup.png)"),
            Attach(image, upload.object_id, "attachments/cup.png"),
        ]
    )
    assert [each.path for each in result.changes] == ["Tea.md", "attachments/cup.png"]
    other = await workspace.upload_image(OTHER, "cup.png", "image/png")
    head = result.changes[1].revision.id
    await workspace.push([Attach(image, other.object_id, "attachments/cup.png", head)])
    assert await content(workspace, image) == OTHER


async def test_workspace_is_exported_and_imported(client: Client, tmp_path: Path) -> None:
    first, second = [await client.create_workspace(name) for name in ("first", "second")]
    await first.create("Tea.md", "one\r\n")
    upload = await first.upload_image(PNG, "cup.png", "image/png")
    await first.attach(upload.object_id, "attachments/cup.png")
    await first.export_archive(tmp_path / "1.zip")
    summary = await second.import_archive(tmp_path / "1.zip")
    assert (summary.notes, summary.attachments) == (1, 1)
    assert [(each.path, each.head.digest, each.kind) async for each in second.files()] == [
        (each.path, each.head.digest, each.kind) async for each in first.files()
    ]
    with pytest.raises(ProblemError) as refused:
        await second.import_archive(tmp_path / "1.zip")
    assert refused.value.code == "path_conflict"
