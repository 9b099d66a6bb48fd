"""Images get free, valid paths among the attachments."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.archives.worker.survey import attachment_path, is_placed, note_path
from octavo.model.files.image import check_image_path, media_type_of_name
from octavo.model.files.path import MAX_SEGMENTS


def placed(path: str, *taken: str) -> str:
    return attachment_path(path, lambda each: each not in taken)


def test_only_the_folder_of_attachments_keeps_its_images() -> None:
    assert is_placed("attachments/a.png")
    assert not is_placed("Attachments/a.png")
    assert not is_placed("notes/attachments/a.png")


@pytest.mark.parametrize(
    ("path", "taken", "expected"),
    [
        ("a.png", (), "attachments/a.png"),
        ("x/y/a.b.png", (), "attachments/x/y/a.b.png"),
        ("ATTACHMENTS/x/a.png", (), "attachments/x/a.png"),
        ("a.png", ("attachments/a.png",), "attachments/a-2.png"),
        (
            "x/a.png",
            ("attachments/x/a.png", "attachments/x/a-2.png", "attachments/a-2.png"),
            "attachments/x/a-3.png",
        ),
        ("x/a.png", ("attachments/x/a.png", "attachments/x/a-2.png"), "attachments/a-2.png"),
        ("x/" * (MAX_SEGMENTS - 1) + "a.png", (), "attachments/a-2.png"),
        ("x" * 251 + ".png", ("attachments/" + "x" * 251 + ".png",),
         "attachments/" + "x" * 249 + "-2.png"),
        ("\u00e9" * 125 + "x.png", ("attachments/" + "\u00e9" * 125 + "x.png",),
         "attachments/" + "\u00e9" * 124 + "-2.png"),
    ],
)  # fmt: skip
def test_image_gets_the_first_free_path(path: str, taken: Collection[str], expected: str) -> None:
    assert placed(path, *taken) == expected


@given(
    folders=st.lists(st.sampled_from(["a", "b" * 200, "\u65e5" * 80]), max_size=31),
    name=st.sampled_from(["a.png", "\u65e5" * 83 + ".jpg", "x" * 250 + ".webp"]),
    refusals=st.integers(0, 20),
)
def test_path_is_one_of_an_image(folders: list[str], name: str, refusals: int) -> None:
    refused: set[str] = set()

    def is_free(path: str) -> bool:
        media_type = media_type_of_name(path)
        assert media_type is not None
        check_image_path(path, media_type)
        refused.add(path)
        return len(refused) > refusals

    assert is_placed(attachment_path("/".join([*folders, name]), is_free))


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ((), "x/a.md"),
        (("x/a.md",), "x/a 2.md"),
        (("x/a.md", "x/a 2.md"), "a 2.md"),
        (("x/a.md", "x/a 2.md", "a 2.md"), "x/a 3.md"),
    ],
)
def test_note_gets_a_number_if_its_path_is_taken(taken: Collection[str], expected: str) -> None:
    assert note_path("x/a.md", lambda each: each not in taken) == expected
