"""Notes are written in forms."""

import re
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from html import unescape
from typing import cast

import pytest
from antechamber.asgi import Application, Receive, Scope, Send
from octavo_rules.identity import WorkspaceId

from octavo.features.notes.member_notes import MemberNotes
from octavo.features.publishing.renderings import RenderingPostponed, Renderings
from octavo.http.contract.memory_budget import MemoryBudget, Reservation, with_reservation
from octavo.model.image_limits import MAX_BYTES
from tests.fakes.asgi_client import Response, ask
from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.image_files import encoded, picture
from tests.fakes.page_reader import PageReader
from tests.fakes.users_api import ORIGIN
from tests.features.notes.pages.conftest import Vault
from tests.features.publishing.pages.test_publications import create_workspace


async def test_first_note_is_written_from_the_empty_workspace(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open(vault.base)
    assert "No notes yet" in ann.text
    await ann.open(ann.page.links["Write the first note"])
    await ann.submit("Create the note", path="Kitchen/Tea", text="# Tea\r\n\r\nGreen.\r\n")
    assert ann.page.alerts == ["The note is created."]
    assert ann.page.headings == ["Tea"]
    assert "<p>Green.</p>" in ann.text
    assert await vault.texts() == {"Kitchen/Tea.md": "# Tea\n\nGreen.\n"}


async def test_note_without_a_path_is_named_after_its_first_line(
    ann: PageReader, vault: Vault
) -> None:
    for _ in range(2):
        await vault.write(ann, "", "Call Ben\n\nabout the boat")
    await vault.write(ann, "Garden/", "# Roses")
    assert set(await vault.texts()) == {
        "Inbox/Call Ben.md",
        "Inbox/Call Ben 2.md",
        "Garden/Roses.md",
    }


async def test_note_is_edited(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await ann.open(ann.page.links["Edit"])
    await ann.submit("Save", text="Black.")
    assert (ann.path, ann.page.alerts) == (note, ["Saved."])
    assert await vault.texts() == {"Tea.md": "Black."}


async def test_form_is_headed_by_the_title_that_the_page_of_the_note_has(
    ann: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Kitchen/tea-2026", "# All about tea\n\nGreen.")
    assert ann.page.headings == ["All about tea"]
    form = await ann.form_at(f"{note}/edit", "Save")
    assert ann.page.headings == ["Edit All about tea"]
    assert form.fields["path"] == "Kitchen/tea-2026.md"
    assert ann.page.links["All about tea"] == note
    await ann.send_form(form, text="# Coffee", path="a:b")
    assert ann.page.headings == ["Edit All about tea"]


async def test_form_of_a_note_that_was_not_rendered_yet_does_not_wait_for_its_title(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await vault.replace(note, "# All about tea")
    monkeypatch.delattr(Renderings, "get")
    await ann.open(f"{note}/edit")
    assert ann.page.headings == ["Edit Tea"]


async def test_help_for_markdown_shows_links_that_are_links(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/new")
    links = re.findall("<code>(.*(?:%20|https).*)</code>", ann.text)
    assert [unescape(each) for each in links] == [
        "[words](Other%20note.md)",
        "<https://example.org>",
    ]
    other = await vault.write(ann, "Other note", "Here.")
    await vault.write(ann, "Tea", "\n\n".join(map(unescape, links)))
    assert ann.page.links["words"] == other
    assert ann.page.links["https://example.org"] == "https://example.org"


async def test_text_keeps_its_first_empty_line_and_its_last(ann: PageReader, vault: Vault) -> None:
    await vault.write(ann, "Tea", "Green.")
    await ann.open(ann.page.links["Edit"])
    await ann.submit("Save", text="\r\n\r\nBlack.\r\n\r\n")
    assert await vault.texts() == {"Tea.md": "\n\nBlack.\n\n"}
    await ann.open(f"{ann.path}/edit")
    assert "\n\n\nBlack.\n\n</textarea>" in ann.text


async def test_note_keeps_the_line_ends_of_another_system(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await vault.replace(note, "Green.\r\nHot.\r\n")
    await vault.edit(ann, note, "Black.\r\nHot.\r\n")
    assert await vault.texts() == {"Tea.md": "Black.\r\nHot.\r\n"}


async def test_preview_saves_nothing(ann: PageReader, vault: Vault) -> None:
    await vault.write(ann, "Tea", "Green.")
    await ann.open(ann.page.links["Edit"])
    await ann.submit("Save", text="**Black.**", action="preview")
    assert "<strong>Black.</strong>" in ann.text
    assert "**Black.**</textarea>" in ann.text
    assert await vault.texts() == {"Tea.md": "Green."}


async def test_form_that_is_sent_twice_makes_one_note(ann: PageReader, vault: Vault) -> None:
    form = await ann.form_at(f"{vault.base}/new", "Create the note")
    for _ in range(2):
        await ann.send_form(form, path="Tea", text="Green.")
        assert ann.page.alerts == ["The note is created."]
    assert await vault.texts() == {"Tea.md": "Green."}


async def test_form_that_is_sent_again_to_another_process_makes_one_note(
    ann: PageReader, vault: Vault
) -> None:
    """There the response of the first submission is not known, but the change is."""
    form = await ann.form_at(f"{vault.base}/new", "Create the note")
    for once in ("1", "2"):
        await ann.send_form(form, path="Tea", text="Green.", once=once)
        assert ann.path.startswith(f"{vault.base}/notes/"), ann.page.alerts
    assert await vault.texts() == {"Tea.md": "Green."}


async def test_path_that_is_taken_comes_back_beside_the_field(
    ann: PageReader, vault: Vault
) -> None:
    await vault.write(ann, "Tea", "Green.")
    await ann.open(f"{vault.base}/new")
    await ann.submit("Create the note", path="tea", text="Mine.")
    assert ann.status == 409
    assert "choose another path" in ann.text
    assert ann.form("Create the note").fields["path"] == "tea"
    assert "Mine.</textarea>" in ann.text
    assert ann.page.focused == ["path"]


@pytest.mark.parametrize("path", ["a:b", "con", "x" * 300])
async def test_invalid_path_comes_back_with_the_text(
    ann: PageReader, vault: Vault, path: str
) -> None:
    await ann.open(f"{vault.base}/new")
    await ann.submit("Create the note", path=path, text="Mine.")
    assert ann.status == 422
    assert "Mine.</textarea>" in ann.text
    assert ann.page.focused == ["path"]


async def test_edit_moves_the_note_with_its_links(ann: PageReader, vault: Vault) -> None:
    await vault.write(ann, "Tea", "Green.")
    tea = ann.path
    await vault.write(ann, "Kitchen", "See [tea](Tea.md).")
    await ann.open(f"{tea}/edit")
    await ann.submit("Save", path="Drinks/Tea", text="Black, in the [kitchen](Kitchen.md).")
    assert await vault.texts() == {
        "Drinks/Tea.md": "Black, in the [kitchen](../Kitchen.md).",
        "Kitchen.md": "See [tea](Drinks/Tea.md).",
    }


async def test_preview_of_a_note_that_moves_shows_its_images(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    png = encoded(picture((20, 10)), "PNG")
    await ann.open(f"{note}/edit")
    await ann.upload("Save", "cup.png", png, path="Drinks/Hot/Tea", action="preview")
    assert ann.page.alerts == ["The image is at the end of your text. The note is not saved yet."]
    assert "![cup](attachments/cup.png)" in ann.text
    assert 'alt="cup"' in ann.text
    await ann.submit("Save")
    assert await vault.texts() == {
        "Drinks/Hot/Tea.md": "Green.\n\n![cup](../../attachments/cup.png)\n"
    }


@pytest.mark.parametrize("path", [" Tea.md", " Hot/ Tea.md"])
async def test_path_that_nobody_touched_stays_as_it_is(
    ann: PageReader, vault: Vault, path: str
) -> None:
    note = await vault.create(path, "Green.")
    await ann.open(f"{note}/edit")
    await ann.submit("Save", text="Black.")
    assert ann.page.alerts == ["Saved."]
    await ann.send_form(await ann.form_at(f"{note}/edit", "Save"), action="preview")
    assert ann.page.alerts == []
    assert await vault.texts() == {path: "Black."}
    await ann.open(f"{note}/move")
    await ann.submit("Move")
    assert ann.page.alerts == ["There was nothing to save."]
    await vault.delete(ann, note)
    await ann.open(f"{note}/restore")
    await ann.submit("Restore the note")
    assert await vault.texts() == {path: "Black."}


async def test_path_that_nobody_touched_stays_when_texts_are_merged(
    ann: PageReader, vault: Vault
) -> None:
    note = await vault.create(" Tea.md", "Green.\n\nHot.\n")
    form = await ann.form_at(f"{note}/edit", "Save")
    await vault.edit(ann, note, "Green.\n\nCold.\n")
    await ann.send_form(form, text="Black.\n\nHot.\n")
    await ann.submit("Save the merged text")
    assert await vault.texts() == {" Tea.md": "Black.\n\nCold.\n"}


async def test_saving_what_nobody_changed_here_merges_nothing(
    ann: PageReader, vault: Vault
) -> None:
    await save_late(ann, vault, "Green.\n", theirs="Black.\n", mine="Green.\n")
    assert ann.page.alerts == [
        "You changed nothing. The note was saved meanwhile: this is its current text."
    ]
    assert await vault.texts() == {"Tea.md": "Black.\n"}


async def save_late(ann: PageReader, vault: Vault, text: str, theirs: str, mine: str) -> None:
    """Save a text of a note in a form that was opened before another text was saved."""
    note = await vault.write(ann, "Tea", text)
    form = await ann.form_at(f"{note}/edit", "Save")
    await vault.edit(ann, note, theirs)
    await ann.send_form(form, text=mine)


async def test_note_that_changed_meanwhile_is_merged(ann: PageReader, vault: Vault) -> None:
    text, theirs = "Green tea.\n\nHot.\n", "Green tea, 75 degrees.\n\nHot.\n"
    await save_late(ann, vault, text, theirs, "Green tea.\n\nVery hot.\n")
    assert ann.status == 409
    assert ann.page.headings == ["This note changed while you wrote"]
    assert "there are no conflicts" in ann.text
    assert await vault.texts() == {"Tea.md": theirs}
    await ann.submit("Save the merged text", text=merged_text(ann))
    assert await vault.texts() == {"Tea.md": "Green tea, 75 degrees.\n\nVery hot.\n"}


def merged_text(reader: PageReader) -> str:
    """The text of the first form of a page, with its line feeds."""
    return reader.text.split('class="writing"', 1)[1].split(">\n", 1)[1].split("</textarea>")[0]


async def test_contradiction_is_shown_and_finished_by_the_person(
    ann: PageReader, vault: Vault
) -> None:
    await save_late(
        ann, vault, "Steep 3 minutes.\n", theirs="Steep 2 minutes.\n", mine="Steep 4 minutes.\n"
    )
    assert "one place needs your decision" in ann.text
    for theirs in (">Steep <del>3</del><ins>2</ins> minutes.<", ">Steep <del>3</del><ins>4</ins>"):
        assert theirs in ann.text
    await ann.submit("Save the merged text", text="Steep 2 to 4 minutes.\n")
    assert await vault.texts() == {"Tea.md": "Steep 2 to 4 minutes.\n"}


@pytest.mark.parametrize(("count", "more"), [(25, "5 more places"), (21, "one more place")])
async def test_contradictions_are_named_by_their_headings_and_counted(
    ann: PageReader, vault: Vault, count: int, more: str
) -> None:
    base, theirs, mine = (
        "".join(f"## Part {number}\n\nIt is {word} here.\n\n" for number in range(count))
        for word in "abc"
    )
    await save_late(ann, vault, base, theirs, mine)
    assert f"{count} places need" in ann.text
    assert ">Part 19</strong>" in ann.text
    assert ">Part 20</strong>" not in ann.text
    assert f"This page leaves out {more}." in ann.text


async def test_contradicting_text_is_kept_as_a_copy(ann: PageReader, vault: Vault) -> None:
    await save_late(
        ann, vault, "Steep 3 minutes.\n", theirs="Steep 2 minutes.\n", mine="Steep 4 minutes.\n"
    )
    await ann.submit("Keep", action="copy")
    assert ann.page.alerts == ["Your text is saved as a note of its own."]
    assert await vault.texts() == {
        "Tea.md": "Steep 2 minutes.\n",
        "Tea (copy).md": "Steep 4 minutes.\n",
    }


async def test_text_that_was_saved_meanwhile_is_kept(ann: PageReader, vault: Vault) -> None:
    await save_late(ann, vault, "Green.\n", theirs="Black.\n", mine="White.\n")
    await ann.submit("Keep", action="keep")
    assert ann.page.alerts == ["The saved text is kept, and yours is dropped."]
    assert await vault.texts() == {"Tea.md": "Black.\n"}


async def test_text_that_the_visitor_saved_elsewhere_is_not_called_theirs(
    ann: PageReader, vault: Vault
) -> None:
    await save_late(ann, vault, "Green.\n", theirs="Black.\n", mine="White.\n")
    assert "You saved it" in ann.text
    assert "in the browser, in another window or on another device" in ann.text
    assert "What was saved meanwhile" in ann.text
    for each in ("Theirs", "Keep theirs", "What they changed"):
        assert each not in ann.text


async def test_text_that_somebody_else_saved_is_called_theirs(
    ann: PageReader, bob: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await join(vault, "editor")
    form = await bob.form_at(f"{note}/edit", "Save")
    await vault.edit(ann, note, "Black.\n")
    await bob.send_form(form, text="White.\n")
    assert "<bdi>Ann</bdi> saved it" in bob.text
    for each in ("Theirs", "Keep theirs", "What they changed"):
        assert each in bob.text


async def test_note_that_was_deleted_meanwhile_is_written_again(
    ann: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    form = await ann.form_at(f"{note}/edit", "Save")
    await vault.delete(ann, note)
    await ann.send_form(form, text="Black.")
    assert "Somebody deleted this note" in ann.page.alerts[0]
    await ann.submit("Create the note")
    assert await vault.texts() == {"Tea.md": "Black."}


async def test_form_that_is_saved_changed_and_saved_again_goes_on_from_there(
    ann: PageReader, vault: Vault
) -> None:
    """As after the Back button of the browser."""
    note = await vault.write(ann, "Tea", "Green.\n")
    form = await ann.form_at(f"{note}/edit", "Save")
    await ann.send_form(form, text="Green.\nBlack.\n")
    await ann.send_form(form, text="Green.\nBlack.\nWhite.\n")
    assert (ann.path, ann.page.alerts) == (note, ["Saved."])
    assert await vault.texts() == {"Tea.md": "Green.\nBlack.\nWhite.\n"}


async def test_text_survives_the_end_of_the_session(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await ann.open(f"{note}/edit")
    ann.cookies.clear()
    await ann.submit("Save", text="Black.\n")
    assert ann.status == 401
    assert "Black.\n</textarea>" in ann.text
    assert await vault.texts() == {"Tea.md": "Green.\n"}
    await ann.submit("Sign in and go on", address="ann@example.org", password="wrong")
    assert ann.page.headings == ["Sign in again"]
    assert "Black.\n</textarea>" in ann.text
    await ann.submit("Sign in and go on", address="ann@example.org", password=PASSWORD)
    assert ann.page.headings == ["You are signed in again"]
    await ann.submit("Save", text="Black.\n")
    assert (ann.path, ann.page.alerts) == (note, ["Saved."])
    assert await vault.texts() == {"Tea.md": "Black.\n"}


@pytest.mark.parametrize("action", ["image", "save"])
async def test_image_that_cannot_be_kept_is_named_and_the_text_is_saved_without_it(
    ann: PageReader, vault: Vault, action: str
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await ann.open(f"{note}/edit")
    ann.cookies.clear()
    png = encoded(picture((20, 10)), "PNG")
    await ann.upload("Save", "cup.png", png, text="Black.\n", action=action)
    lost = "The image that you chose is not kept"
    assert (ann.status, lost in ann.text) == (401, True)
    await ann.submit("Sign in and go on", address="ann@example.org", password=PASSWORD)
    assert lost in ann.text
    await ann.submit("Save", text="Black.\n")
    assert (ann.path, ann.page.alerts) == (note, ["Saved."])
    assert await vault.texts() == {"Tea.md": "Black.\n"}


MIB = 1024 * 1024
PART = b'--b\r\ncontent-disposition: form-data; name="'
LONG = 'Tea & <b>"milk"</b>\n' * 4_000


async def test_long_text_survives_the_end_of_the_session(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await ann.open(f"{note}/edit")
    ann.cookies.clear()
    await ann.submit("Save", text=LONG)
    assert (ann.status, ann.page.headings) == (401, ["Sign in again"])
    assert ann.form("Sign in and go on").fields["kept-text"] == LONG
    await ann.submit("Sign in and go on", address="ann@example.org", password="wrong")
    assert ann.page.headings == ["Sign in again"]
    await ann.submit("Sign in and go on", address="ann@example.org", password=PASSWORD)
    assert ann.page.headings == ["You are signed in again"]
    assert ann.form("Save").fields["text"] == LONG
    await ann.submit("Save")
    assert (ann.path.partition("?")[0], ann.page.alerts) == (note, ["Saved."])
    assert await vault.texts() == {"Tea.md": LONG}
    await ann.open(f"{note}/edit")
    assert ann.form("Save").fields["text"] == LONG


@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
@pytest.mark.parametrize(
    "following",
    ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "javascript:x"],
)
async def test_form_of_an_ended_session_goes_on_to_no_other_site(
    ann: PageReader, vault: Vault, following: str, password: str
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await ann.open(f"{note}/edit")
    ann.cookies.clear()
    await ann.submit("Save", text=LONG)
    form = ann.form("Sign in and go on")
    assert form.fields["following"].startswith(note)
    form.fields["following"] = following
    await ann.send_form(form, address="ann@example.org", password=password)
    assert ann.page.headings == [
        "You are signed in again" if password == PASSWORD else "Sign in again"
    ]
    [sent] = [each for each in ann.page.forms if LONG in each.fields.values()]
    assert "/workspaces" in (sent.action, sent.fields.get("following"))
    assert following not in (sent.action, sent.fields.get("following"))


@pytest.mark.parametrize(("days", "status"), [(0, 401), (91, 401), (92, 413)])
async def test_long_text_is_admitted_for_a_day_after_the_longest_session(
    ann: PageReader, vault: Vault, days: int, status: int
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    form = await ann.form_at(f"{note}/edit", "Save")
    ann.cookies.clear()
    vault.house.users.identity.sources.time += days * 86_400
    await ann.send_form(form, text=LONG)
    assert ann.status == status


async def ask_as(
    person: PageReader,
    application: Application,
    action: str,
    body: Sequence[bytes],
    before_last: Callable[[], Awaitable[None]] | None = None,
) -> Response:
    """Send a form whose parts are encoded already."""

    async def received(scope: Scope, receive: Receive, send: Send) -> None:
        await application({**scope, "http_version": "1.1", "scheme": "http"}, receive, send)

    cookie = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    headers = [
        (b"origin", ORIGIN.encode()),
        (b"cookie", cookie.encode()),
        (b"content-type", b"multipart/form-data; boundary=b"),
        (b"content-length", b"%d" % sum(map(len, body))),
    ]
    return await ask(received, "POST", action, headers=headers, body=body, before_last=before_last)


@pytest.mark.parametrize(
    ("reason", "end", "status"),
    [
        ("without room", b"", 503),
        ("too long", b"x" * 8 * MIB, 413),
        ("not UTF-8", b"\xff\r\n--b--\r\n", 400),
        ("too many parts", (b"\r\n" + PART + b'a"\r\n\r\n') * 200, 400),
    ],
)
async def test_refused_text_is_freed_before_the_rest_of_the_form_arrives(
    ann: PageReader, vault: Vault, reason: str, end: bytes, status: int
) -> None:
    form = await ann.form_at(f"{vault.base}/new", "Create")
    whole = PART + b'text"\r\n\r\n' + b"x" * 3 * MIB + end
    chunks = [whole[start : start + 64 * 1024] for start in range(0, len(whole), 64 * 1024)]
    budget = MemoryBudget()
    others = budget.reserve_unchecked("others", 156 * MIB if reason == "without room" else 0)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        reserved = with_reservation(scope, Reservation(budget, "192.0.2.7"))
        await asgi_app(reserved, receive, send)

    asgi_app = cast("Application", vault.house.app)
    kept: list[int] = []

    async def measure() -> None:
        kept.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        body = [*chunks, b"\r\n", b"rest"]
        response = await ask_as(ann, application, form.action, body, measure)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert response.status == status, response.body
    assert most > 2 * MIB
    assert [size < MIB for size in kept] == [True], kept
    assert budget.held == others.size


@pytest.mark.parametrize("change", ["none", "forged", "of another workspace"])
async def test_long_text_of_a_stranger_is_not_shown_again(
    ann: PageReader, bob: PageReader, vault: Vault, change: str
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    form = await ann.form_at(f"{note}/edit", "Save")
    path, _, stamp = form.action.partition("?stamp=")
    other = (await create_workspace(vault.house, bob)).removesuffix("/links")
    theirs = (await bob.form_at(f"{other}/new", "Create")).action.partition("?stamp=")[2]
    form.action = {
        "none": path,
        "forged": f"{path}?stamp={stamp[:-1]}{'A' if stamp[-1] != 'A' else 'B'}",
        "of another workspace": f"{path}?stamp={theirs}",
    }[change]
    ann.cookies.clear()
    await ann.send_form(form, text=LONG)
    assert (ann.status, ann.page.headings) == (413, ["This is too large"])
    assert "your text is still there" in ann.text
    assert "milk" not in ann.text
    await ann.send_form(form, text="Short.\n")
    assert ann.form("Sign in and go on").fields["kept-text"] == "Short.\n"


async def test_long_text_survives_the_loss_of_the_role(
    ann: PageReader, bob: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await join(vault, "editor")
    form = await bob.form_at(f"{note}/edit", "Save")
    await join(vault, "reader")
    await bob.send_form(form, text=LONG)
    assert (bob.status, bob.page.headings) == (403, ["Nothing was saved"])
    assert bob.form("Try again").fields["text"] == LONG


async def test_text_with_what_looks_like_a_mark_is_shown_as_it_is(
    ann: PageReader, vault: Vault
) -> None:
    form = await ann.form_at(f"{vault.base}/new", "Create")
    text = f"\ufffd{bytes(16).hex()} 0\ufffd\n" + LONG
    await ann.send_form(form, text=text, path="a:b")
    assert ann.form("Create").fields["text"] == text


async def test_text_survives_another_sign_in(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    form = await ann.form_at(f"{note}/edit", "Save")
    again = await vault.house.signed_in("ann@example.org")
    await again.send_form(form, text="Black.\n")
    assert again.page.headings == ["You are signed in again"]
    assert await vault.texts() == {"Tea.md": "Green.\n"}


async def join(vault: Vault, role: str) -> None:
    """Make Bob a member, or give him another role."""
    await vault.house.users.identity.execute(
        "INSERT INTO members (workspace_id, account_id, role, joined_at) "
        "SELECT $1::uuid, id, $2, 0 FROM accounts WHERE address = 'bob@example.org' "
        "ON CONFLICT (workspace_id, account_id) DO UPDATE SET role = excluded.role",
        vault.workspace_id,
        role,
    )
    vault.house.users.access.forget(WorkspaceId(vault.workspace_id))


@pytest.mark.parametrize("place", ["new", "edit"])
async def test_text_survives_the_loss_of_the_role(
    ann: PageReader, bob: PageReader, vault: Vault, place: str
) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await join(vault, "editor")
    path, button = (f"{vault.base}/new", "Create the note")
    if place == "edit":
        path, button = f"{note}/edit", "Save"
    form = await bob.form_at(path, button)
    await join(vault, "reader")
    await bob.send_form(form, path="Cup", text="Black.\n")
    assert bob.status == 403
    assert bob.page.headings == ["Nothing was saved"]
    assert "You may read the notes of this workspace, but not change them." in bob.text
    assert "Black.\n</textarea>" in bob.text
    assert await vault.texts() == {"Tea.md": "Green.\n"}
    await join(vault, "editor")
    await bob.submit("Try again", text="Black.\n")
    assert "Cup.md" in await vault.texts()


async def test_form_of_another_site_is_refused(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await ann.open(f"{note}/edit")
    ann.headers["origin"] = "https://elsewhere.example"
    await ann.submit("Save", text="Black.\n")
    assert ann.status == 403
    assert await vault.texts() == {"Tea.md": "Green.\n"}


async def test_quick_capture_leads_to_the_one_workspace(ann: PageReader, vault: Vault) -> None:
    await ann.open("/new?text=Call%20Ben&path=Inbox/Boat")
    assert ann.path == f"{vault.base}/new?path=Inbox/Boat&text=Call%20Ben"
    assert ann.form("Create the note").fields["path"] == "Inbox/Boat"
    assert "Call Ben</textarea>" in ann.text


async def test_reader_gets_no_form(ann: PageReader, bob: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.\n")
    await join(vault, "reader")
    await bob.open(note)
    assert bob.status == 200
    assert "Edit" not in bob.page.links
    for form in (f"{note}/edit", f"{vault.base}/new", f"{note}/move", f"{note}/delete"):
        await bob.open(form)
        assert bob.status == 403
    sent = await ann.form_at(f"{note}/edit", "Save")
    await bob.open(note)
    token = bob.form("Sign out").fields["token-of-form"]
    await bob.send_form(sent, **{"token-of-form": token, "text": "Mine."})
    assert bob.status == 403
    assert await vault.texts() == {"Tea.md": "Green.\n"}


async def test_text_with_several_line_ends_stays_as_it_is_when_nobody_changes_it(
    ann: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await vault.replace(note, "Green.\r\nHot.\rSweet.\n")
    await ann.open(f"{note}/edit")
    await ann.submit("Save")
    assert ann.page.alerts == ["There was nothing to save."]
    assert await vault.texts() == {"Tea.md": "Green.\r\nHot.\rSweet.\n"}
    await ann.open(f"{note}/edit")
    await ann.submit("Save", text="Black.\nHot.\n")
    assert await vault.texts() == {"Tea.md": "Black.\nHot.\n"}


@pytest.mark.parametrize("place", ["new", "edit"])
async def test_preview_of_a_text_that_cannot_be_saved_keeps_it(
    ann: PageReader, vault: Vault, place: str
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    path, button = (f"{vault.base}/new", "Create the note")
    if place == "edit":
        path, button = f"{note}/edit", "Save"
    form = await ann.form_at(path, button)
    text = "> " * 200 + "Mine."
    await ann.send_form(form, text=text, action="preview")
    assert ann.status == 422
    assert "Nest less deeply." in ann.text
    assert "Mine.</textarea>" in ann.text
    assert ann.page.focused == ["text"]


async def test_preview_that_is_not_made_in_time_keeps_the_text(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def postponed(*_: object) -> None:
        raise RenderingPostponed

    monkeypatch.setattr(MemberNotes, "preview", postponed)
    form = await ann.form_at(f"{vault.base}/new", "Create the note")
    await ann.send_form(form, text="Mine.", action="preview")
    assert ann.status == 503
    assert "Try again in some seconds." in ann.text
    assert "Mine.</textarea>" in ann.text


@pytest.mark.parametrize("path", ["Tea", ""])
async def test_form_that_made_a_note_and_is_changed_and_sent_again_changes_it(
    ann: PageReader, vault: Vault, path: str
) -> None:
    form = await ann.form_at(f"{vault.base}/new", "Create the note")
    await ann.send_form(form, path=path, text="Green.")
    note = ann.path
    await ann.send_form(form, path=path, text="Black.", once="another")
    assert (ann.path, ann.page.alerts) == (note, ["Saved."])
    assert [*(await vault.texts()).values()] == ["Black."]


async def test_copy_can_be_kept_after_the_merged_text_was_saved(
    ann: PageReader, vault: Vault
) -> None:
    await save_late(ann, vault, "Green.\n", theirs="Black.\n", mine="White.\n")
    merging = ann.form("Save the merged text")
    mutation = merging.fields["mutation"]
    [copying] = [
        each for each in ann.page.forms if each.fields.get("mutation", mutation) != mutation
    ]
    await ann.send_form(merging, text="Grey.\n")
    await ann.send_form(copying, text="White.\n", action="copy")
    assert await vault.texts() == {"Tea.md": "Grey.\n", "Tea (copy).md": "White.\n"}


async def test_note_without_a_path_gets_a_name_that_differs_in_more_than_case(
    ann: PageReader, vault: Vault
) -> None:
    await vault.write(ann, "Inbox/IDEA", "Mine.")
    await vault.write(ann, "", "idea")
    assert set(await vault.texts()) == {"Inbox/IDEA.md", "Inbox/idea 2.md"}


async def test_image_of_the_form_is_inserted_and_the_page_says_so(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open(f"{vault.base}/new?text=Look")
    png = encoded(picture((20, 10)), "PNG")
    await ann.upload("Create the note", "cup.png", png, path="Tea", action="image")
    assert ann.page.alerts == ["The image is at the end of your text. The note is not saved yet."]
    assert "![cup](attachments/cup.png)" in ann.text


@pytest.mark.parametrize("page", ["new", "edit"])
async def test_text_whose_json_is_too_long_is_refused_in_words(
    ann: PageReader, vault: Vault, page: str
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    places = {"new": (f"{vault.base}/new", "Create the note"), "edit": (f"{note}/edit", "Save")}
    form = await ann.form_at(*places[page])
    # Each of the characters takes six bytes there.
    fields = {**form.fields, "path": "Tea.md", "text": "\x01" * 1_500_000}
    parts = [PART + f'{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields.items()]
    app = cast("Application", vault.house.app)
    response = await ask_as(ann, app, form.action, [*parts, b"--b--\r\n"])
    assert response.status == 413
    assert b"a note may have 2 MB. Split it into several notes." in response.body


async def test_image_that_is_too_large_is_refused_in_words(ann: PageReader, vault: Vault) -> None:
    png = encoded(picture((20, 10)), "PNG") + bytes(MAX_BYTES)
    await ann.open(f"{vault.base}/new?text=Look")
    await ann.upload("Create the note", "cup.png", png, path="Tea", action="image")
    assert ann.status == 413
    assert "The image is larger than 32 MB. Choose a smaller one." in ann.text
    assert "Look</textarea>" in ann.text


async def test_form_that_cannot_be_read_says_that_nothing_was_saved(
    ann: PageReader, vault: Vault
) -> None:
    form = await ann.form_at(f"{vault.base}/new", "Create the note")
    await ann.send_form(form, **{f"more-{number}": "" for number in range(200)})
    assert (ann.status, ann.page.headings) == (400, ["The form could not be read"])
    assert "Nothing was saved." in ann.text
    assert await vault.texts() == {}


async def test_image_that_was_chosen_is_saved_with_the_note(ann: PageReader, vault: Vault) -> None:
    png = encoded(picture((20, 10)), "PNG")
    await ann.open(f"{vault.base}/new?text=Look")
    await ann.upload("Create the note", "cup.png", png, path="Tea")
    assert ann.page.alerts == ["The note is created."]
    note = ann.path
    assert await vault.texts() == {"Tea.md": "Look\n\n![cup](attachments/cup.png)\n"}
    await ann.open(f"{note}/edit")
    await ann.upload("Save", "pot.png", png, text="Here")
    assert ann.page.alerts == ["Saved."]
    assert await vault.texts() == {"Tea.md": "Here\n\n![pot](attachments/pot.png)\n"}


@pytest.mark.parametrize(
    ("path", "more", "expected"),
    [
        ("/Kitchen/Tea", {}, "Kitchen/Tea.md"),
        ("Kitchen/Tea", {"rewrite": "on"}, "Kitchen/Tea.md"),
        ("Kitchen/Tea", {"rewrite": "on", "action": "copy"}, "Kitchen/Tea (copy).md"),
    ],
)
async def test_image_that_was_chosen_is_linked_from_where_the_text_ends_up(
    ann: PageReader, vault: Vault, path: str, more: dict[str, str], expected: str
) -> None:
    png = encoded(picture((20, 10)), "PNG")
    note = await vault.write(ann, "Tea", "Green.")
    await ann.open(f"{note}/edit")
    form = ann.form("Save")
    form.fields.pop("rewrite", None)
    form.fields.update(more)
    await ann.upload("Save", "pot.png", png, text="Here", path=path)
    texts = await vault.texts()
    assert texts[expected] == "Here\n\n![pot](../attachments/pot.png)\n"


async def test_note_is_not_saved_without_the_image_that_was_chosen(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open(f"{vault.base}/new?text=Look")
    await ann.upload("Create the note", "cup.png", b"no image", path="Tea")
    assert ann.page.focused == ["image"]
    assert "Look</textarea>" in ann.text
    assert await vault.texts() == {}


async def test_text_that_is_too_long_is_refused_before_it_is_merged(
    ann: PageReader, vault: Vault
) -> None:
    await save_late(ann, vault, "Green.\n", theirs="Black.\n", mine="> " * 200 + "Mine.")
    assert ann.status == 422
    assert "Nest less deeply." in ann.text
    assert "Mine.</textarea>" in ann.text
    await ann.submit("Save", text="White.\n")
    assert ann.page.headings == ["This note changed while you wrote"]


async def test_preview_with_an_invalid_path_says_so(ann: PageReader, vault: Vault) -> None:
    form = await ann.form_at(f"{vault.base}/new", "Create the note")
    await ann.send_form(form, path="a:b", text="Mine.", action="preview")
    assert ann.status == 422
    assert ann.page.focused == ["path"]
    assert "Mine.</textarea>" in ann.text


@pytest.mark.parametrize("checked", [True, False])
async def test_spelling_is_checked_as_the_person_prefers(
    ann: PageReader, vault: Vault, checked: bool
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await ann.open("/account")
    await ann.submit("Save the preferences", spellCheck="on" if checked else None)
    for page in (f"{note}/edit", f"{vault.base}/new"):
        await ann.open(page)
        assert f'class="writing" dir="auto" spellcheck="{str(checked).lower()}"' in ann.text
