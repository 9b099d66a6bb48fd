"""Forms that other sites send, and names that would be markup, on the pages of notes."""

import pytest

from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault

HOSTILE = "\"><script>alert('1')</script>&amp;"
FORMS = [
    ("edit", "Save"),
    ("move", "Move the note"),
    ("delete", "Delete the note"),
]
PAGES = (
    *("", "/recent", "/images", "/unresolved", "/deleted", "/transfers", "/restore"),
    *("/restorations", "/new", "/search?q=green", "/programs", "/members", "/restore?position=1"),
)


@pytest.mark.parametrize(("place", "button"), FORMS)
@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"origin": "null"}])
async def test_form_that_another_site_sends_changes_nothing(
    ann: PageReader, vault: Vault, place: str, button: str, headers: dict[str, str]
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await ann.open(f"{note}/{place}")
    form = ann.form(button)
    given = {name: "Mine" for name in ("text", "path") if name in form.fields}
    ann.headers.update(headers)
    await ann.send_form(form, **given)
    assert ann.status == 403
    assert await vault.texts() == {"Tea.md": "Green.\n"}


@pytest.mark.parametrize(("place", "button"), FORMS)
async def test_form_without_the_value_of_the_session_changes_nothing(
    ann: PageReader, vault: Vault, place: str, button: str
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await ann.open(f"{note}/{place}")
    form = ann.form(button)
    given = {name: "Mine" for name in ("text", "path") if name in form.fields}
    await ann.send_form(form, **given, **{"token-of-form": "guessed"})
    assert await vault.texts() == {"Tea.md": "Green.\n"}


async def test_form_of_a_new_note_that_another_site_sends_creates_nothing(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open(f"{vault.base}/new")
    ann.headers["origin"] = "https://evil.example"
    await ann.submit("Create the note", path="Tea", text="Mine.")
    assert ann.status == 403
    assert await vault.texts() == {}


async def test_names_of_people_and_workspaces_are_text_on_every_page(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open("/account")
    await ann.submit("Change the name", displayName=HOSTILE)
    await ann.open(f"{vault.base}/settings")
    await ann.submit("Rename", name=HOSTILE)
    note = await vault.write(ann, "Tea", f"# {HOSTILE}\n\nGreen.\n")
    await vault.edit(ann, note, f"# {HOSTILE}\n\nBlack.\n")
    shown = 0
    for page in (
        *(f"{vault.base}{each}" for each in PAGES),
        *(f"{note}{each}" for each in ("", "/edit", "/move", "/delete", "/history", "/difference")),
    ):
        await ann.open(page)
        assert ann.status == 200, page
        assert "<script" not in ann.text, page
        shown += "&lt;script&gt;" in ann.text
    # The name of the workspace alone is on each of them.
    assert shown == len(PAGES) + 6
