"""Images as contents: their paths, and how they become files."""

import pytest
from octavo_rules.identity import ContentId, Digest, FileId
from octavo_rules.problems import InvalidContent

from octavo.model.files.changeset import AttachImage, fingerprint
from octavo.model.files.confinement import Confinement
from octavo.model.files.image import (
    MEDIA_TYPES,
    ObjectId,
    UploadedImage,
    check_image_path,
    media_type_of_name,
)
from octavo.model.refusal import (
    FileExists,
    FileMissing,
    FilePurged,
    HeadMoved,
    HeadNotNamed,
    InvalidPath,
    PathConflict,
)
from tests.fakes.planned_workspace import PlannedWorkspace

PATH = "attachments/plan.png"


def image(number: int = 1, media_type: str = "image/png") -> UploadedImage:
    digest = Digest(f"{number:064x}")
    return UploadedImage(ObjectId(f"o{number}"), digest, 100 + number, media_type, 4, 3, 1)


def attach(
    file: str = "i", number: int = 1, path: str = PATH, tag: frozenset[str] | None = None
) -> AttachImage:
    return AttachImage(FileId(file), path, image(number), tag)


@pytest.fixture
def workspace() -> PlannedWorkspace:
    made = PlannedWorkspace()
    made.push(made.create("n", "note.md", "text"), attach())
    return made


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.png", "image/png"),
        ("A.PNG", "image/png"),
        ("a.b.jpg", "image/jpeg"),
        ("a.jpeg", "image/jpeg"),
        ("a.gif", "image/gif"),
        ("a.webp", "image/webp"),
        (".png", "image/png"),
        ("png", None),
        ("a.svg", None),
        ("a.png.exe", None),
        ("a.", None),
        ("", None),
    ],
)
def test_ending_of_a_name_stands_for_a_type(name: str, media_type: str | None) -> None:
    assert media_type_of_name(name) == media_type


def test_every_type_has_a_path() -> None:
    for media_type in MEDIA_TYPES:
        check_image_path(f"attachments/a.{media_type.partition('/')[2]}", media_type)


@pytest.mark.parametrize(
    "path", ["a.png", "Attachments/a.png", "attachments/a.gif", "attachments/a", "attachments/a.md"]
)
def test_image_is_below_attachments_and_named_by_its_type(path: str) -> None:
    with pytest.raises(InvalidPath):
        check_image_path(path, "image/png")


def test_image_becomes_a_file(workspace: PlannedWorkspace) -> None:
    head = workspace.head("i")
    assert (head.kind, head.state, head.path, head.media_type) == (
        "attachment",
        "live",
        PATH,
        "image/png",
    )
    assert (head.digest, head.size) == (image().digest, 101)
    assert head.content_id == ContentId(head.revision_id)


def test_change_brings_the_image(workspace: PlannedWorkspace) -> None:
    planned = workspace.plan(attach("j", 2, "attachments/j.png"))
    [change] = planned.changes
    assert (change.image, change.content) == (image(2), None)
    assert planned.growth == 102


def test_image_is_replaced_where_its_head_is_named(workspace: PlannedWorkspace) -> None:
    before = workspace.head("i")
    assert workspace.push(attach(number=2, tag=workspace.tag("i"))) == ["updated"]
    assert workspace.head("i").digest == image(2).digest
    assert workspace.head("i").content_id != before.content_id


def test_same_image_at_the_same_path_is_unchanged(workspace: PlannedWorkspace) -> None:
    before = workspace.head("i")
    assert workspace.push(attach(tag=workspace.tag("i"))) == ["unchanged"]
    assert workspace.head("i") == before


def test_same_image_at_another_path_is_moved(workspace: PlannedWorkspace) -> None:
    moved = attach(path="attachments/x/plan.png", tag=workspace.tag("i"))
    assert workspace.push(moved) == ["updated"]
    assert workspace.live()["i"] == "attachments/x/plan.png"


def test_image_that_exists_needs_its_head(workspace: PlannedWorkspace) -> None:
    with pytest.raises(HeadNotNamed):
        workspace.push(attach(number=2))
    with pytest.raises(HeadMoved):
        workspace.push(attach(number=2, tag=frozenset({"another"})))


def test_missing_and_deleted_images_are_not_replaced(workspace: PlannedWorkspace) -> None:
    with pytest.raises(FileMissing):
        workspace.push(attach("new", tag=frozenset({"r1"})))
    workspace.push(workspace.delete("i"))
    for tag in (None, workspace.tag("i")):
        with pytest.raises(FileMissing):
            workspace.push(attach(number=2, tag=tag))
    workspace.push(workspace.purge("i"))
    with pytest.raises(FilePurged):
        workspace.push(attach(number=2))


def test_note_does_not_become_an_image(workspace: PlannedWorkspace) -> None:
    with pytest.raises(InvalidContent):
        workspace.push(attach("n", tag=workspace.tag("n")))


def test_image_is_not_written_over_another_file(workspace: PlannedWorkspace) -> None:
    with pytest.raises(PathConflict):
        workspace.push(attach("j", 2, "attachments/PLAN.png"))


def test_image_moves_within_attachments_and_keeps_its_type(workspace: PlannedWorkspace) -> None:
    for path in ("plan.png", "attachments/plan.jpg", "attachments/plan"):
        with pytest.raises(InvalidPath):
            workspace.push(workspace.update("i", path=path))
    assert workspace.push(workspace.update("i", path="attachments/x/plan.png")) == ["updated"]


def test_image_has_no_text(workspace: PlannedWorkspace) -> None:
    with pytest.raises(InvalidContent):
        workspace.push(workspace.update("i", text="text"))


def test_notes_and_images_come_in_one_changeset(workspace: PlannedWorkspace) -> None:
    outcomes = workspace.push(
        workspace.create("m", "m.md", "![](attachments/m.png)"),
        attach("mi", 3, "attachments/m.png"),
        workspace.update("n", text="changed"),
    )
    assert outcomes == ["created", "created", "updated"]


def test_image_outside_the_folder_is_taken_as_a_new_one_and_missing_otherwise(
    workspace: PlannedWorkspace,
) -> None:
    within, inside = Confinement("attachments/own"), "attachments/own/plan.png"
    with pytest.raises(FileExists):
        workspace.push(attach(number=2, path=inside), within=within)
    with pytest.raises(FileMissing):
        workspace.push(attach(number=2, path=inside, tag=workspace.tag("i")), within=within)


def test_fingerprint_tells_uploads_paths_and_heads_apart() -> None:
    operations = [
        attach(),
        attach(number=2),
        attach(path="attachments/b.png"),
        attach(tag=frozenset({"r"})),
        attach(tag=frozenset()),
        attach("j"),
        AttachImage(FileId("i"), PATH, image()._replace(object_id=ObjectId("again"))),
    ]
    assert len({fingerprint([each]) for each in operations}) == len(operations)
    assert fingerprint([attach()]) == fingerprint([attach()])
