"""What readers of published links see: every state of a link, and nothing but what it opens."""

import re
from collections.abc import Awaitable, Callable
from html import unescape
from itertools import product
from urllib.parse import quote, unquote

import pytest
import trio

from octavo.access.attempts import RATES
from octavo.features.images.worker.image_file import InvalidImage
from octavo.features.publishing.signing import TICKET_SECONDS
from octavo.model.access.account import TooManyAttempts
from octavo.model.usage import DownloadLimits, InstallationLimits
from tests.fakes.asgi_client import ask
from tests.fakes.image_files import SRGB, animation, encoded, personal_exif, picture, pixels
from tests.fakes.notes_api import Json, NotesApi, Published, opened, refusal

WHOLE = {"kind": "folder", "path": ""}
TEA = {"kind": "folder", "path": "tea"}
PNG = encoded(picture((30, 20)), "PNG")
PASSWORD = "open sesame"
FORM = (b"content-type", b"application/x-www-form-urlencoded")
UNKNOWN_ID = "01900000-0000-7000-8000-eeeeeeeeeeee"


def unknown(api: NotesApi) -> Published:
    return Published(api, "", "A" * 32)


def hrefs(page: str, start: str = "") -> list[str]:
    """The addresses on a page that begin with the token, unescaped and without it."""
    found = re.findall(r'(?:href|src)="TOKEN([^"]*)"', page)
    return [unescape(each) for each in found if each.startswith(start)]


def ticket_on(page: str) -> str:
    """The ticket that every address on a page has, except for the form to report it."""
    tickets = {each.partition("ticket=")[2] for each in hrefs(page) if each != "/report"}
    [ticket] = tickets
    return ticket


@pytest.mark.parametrize(
    "token",
    [
        *("%00", "A%00", "%FF", "%ED%A0%80", "a%2Fb", "%2E%2E", "%0A", "%F0%9F%98%80", "{token}"),
        *("A" * 31, "A" * 33, "A" * 8_000),
    ],
)
async def test_any_segment_reads_like_a_token_that_no_link_has(api: NotesApi, token: str) -> None:
    odd, other = Published(api, "", token), unknown(api)
    shown = quote(unquote(token), safe="")

    def alike(page: str) -> str:
        return page.replace(f'"{shown}', '"TOKEN')

    assert alike(await odd.read("?note=a&ticket=b")) == await other.read("?note=a&ticket=b")
    assert alike(await odd.open(PASSWORD)) == await other.open(PASSWORD)
    for path in (f"attachments/{UNKNOWN_ID}/{UNKNOWN_ID}", "report"):
        found = [await ask(api.application, "GET", f"{each.path}/{path}") for each in (odd, other)]
        assert found[0].status == found[1].status == (200 if path == "report" else 404)
        assert [key for key, _ in found[0].headers] == [key for key, _ in found[1].headers]


async def image_in(api: NotesApi, path: str = "attachments/cup.png") -> Json:
    """Attach an image; return the change."""
    object_id = await api.upload(PNG)
    made = await api.owner.post(f"{api.place}/attachments/{object_id}/finalize", {"path": path})
    assert made.status == 200, made.body
    found: Json = made.json()
    return found


async def test_note_is_a_page_without_a_session(api: NotesApi) -> None:
    note = await api.note("tea/green.md", "# Green tea\n\nWater at **80 °C**.")
    link = await api.publish({"kind": "note", "fileId": note.id}, label="From Ann")
    page = await link.read()
    assert page.count("<h1") == 1
    assert "Green tea" in page
    assert "<strong>80 °C</strong>" in page
    assert "From Ann" in page
    assert "tea/" not in page
    assert hrefs(page) == ["/report"]


async def test_pages_have_the_headers_of_a_secret_address(api: NotesApi) -> None:
    await api.note("tea/green.md")
    for link in (await api.publish(WHOLE), unknown(api)):
        response = await ask(api.application, "GET", link.path)
        assert response.header("cache-control") == "private, no-store"
        assert response.header("referrer-policy") == "no-referrer"
        assert response.header("x-robots-tag") == "noindex"
        assert response.header("set-cookie") is None
        policy = response.header("content-security-policy") or ""
        assert policy.startswith("default-src 'none'; ")
        assert "script" not in policy


async def test_folder_lists_its_notes_and_opens_each(api: NotesApi) -> None:
    green = await api.note("tea/green.md", "See [black](x/black.md) and [soup](../food/soup.md).")
    black = await api.note("tea/x/black.md", "See [[green]] and [[soup]].")
    soup = await api.note("food/soup.md", "Secret.")
    link = await api.publish(TEA)
    listed = await link.read()
    assert hrefs(listed, "?note=") == [f"?note={green.id}", f"?note={black.id}"]
    assert "soup" not in listed
    page = await link.read(f"?note={green.id}")
    assert f"?note={black.id}" in hrefs(page)
    assert "soup" in page
    assert soup.id not in page
    assert f"?note={green.id}" in hrefs(await link.read(f"?note={black.id}"))
    assert await link.read(f"?note={soup.id}") == await unknown(api).read()


async def test_parameters_that_other_sites_add_are_ignored(api: NotesApi) -> None:
    note = await api.note("tea/green.md", "Green tea.")
    link = await api.publish(TEA)
    assert "Green tea." in await link.read(f"?note={note.id}&fbclid=1")
    assert "Green tea." in await link.read(f"?utm=1&note={note.id}&utm=%FF&%=1")
    # A link that needs no ticket passes none on.
    assert "ticket" not in await link.read("?ticket=abc")


async def closed_by_nothing(api: NotesApi) -> Published:
    return unknown(api)


async def closed_by_revocation(api: NotesApi) -> Published:
    link = await api.publish(WHOLE)
    await api.owner.delete(f"{api.place}/publications/{link.id}")
    return link


async def closed_by_time(api: NotesApi) -> Published:
    link = await api.publish(WHOLE, expiresAt="2030-01-01T00:00:00Z")
    api.sources.time = 1_893_456_000.0
    return link


async def closed_by_a_password(api: NotesApi) -> Published:
    return await api.publish(WHOLE, password=PASSWORD)


async def closed_before_an_opening(api: NotesApi) -> Published:
    return await api.publish(WHOLE, openings=1)


async def closed_by_openings(api: NotesApi) -> Published:
    link = await api.publish(WHOLE, openings=1)
    assert "green" in await link.open()
    return link


async def closed_by_takedown(api: NotesApi) -> Published:
    link = await api.publish(WHOLE)
    await api.execute("UPDATE publications SET taken_down_at = 1 WHERE id = $1::uuid", link.id)
    return link


async def closed_by_the_operator(api: NotesApi) -> Published:
    link = await api.publish(WHOLE)
    await api.execute("UPDATE accounts SET controls_publishing = 0")
    return link


async def closed_by_disabling(api: NotesApi) -> Published:
    link = await api.publish(WHOLE)
    await api.execute("UPDATE accounts SET state = 'disabled'")
    return link


async def closed_by_deletion(api: NotesApi) -> Published:
    note = await api.note("food/soup.md")
    link = await api.publish({"kind": "note", "fileId": note.id})
    await note.delete()
    return link


async def closed_by_an_empty_folder(api: NotesApi) -> Published:
    note = await api.note("food/soup.md")
    link = await api.publish({"kind": "folder", "path": "food"})
    await note.delete()
    return link


async def closed_by_a_deleted_workspace(api: NotesApi) -> Published:
    link = await api.publish(WHOLE)
    assert (await api.owner.delete(api.place)).status == 200
    return link


CLOSED: list[Callable[[NotesApi], Awaitable[Published]]] = [
    closed_by_nothing,
    closed_by_revocation,
    closed_by_time,
    closed_by_a_password,
    closed_before_an_opening,
    closed_by_openings,
    closed_by_takedown,
    closed_by_the_operator,
    closed_by_disabling,
    closed_by_deletion,
    closed_by_an_empty_folder,
    closed_by_a_deleted_workspace,
]


@pytest.mark.parametrize("closed_by", CLOSED)
async def test_every_closed_link_reads_alike(
    api: NotesApi, closed_by: Callable[[NotesApi], Awaitable[Published]]
) -> None:
    note = await api.note("tea/green.md")
    link = await closed_by(api)
    expected = await unknown(api).read()
    assert '<form method="post"' in expected
    assert 'type="password"' in expected
    for query in ("", f"?note={note.id}", "?ticket=x", "?note=x&ticket=" + "A" * 44):
        assert await link.read(query) == expected
    if closed_by is not closed_before_an_opening:
        assert await link.open() == expected
        assert await link.open("wrong password", f"?note={note.id}") == expected
    head = await ask(api.application, "HEAD", link.path)
    assert head.header("content-length") == str(len(expected.encode()) - 5 + len(link.token))


@pytest.mark.parametrize("token", ["%C3%A9", "a" * 300, "%22%3E%3Cscript%3E", "%F0%9F%8D%B5", "~"])
async def test_any_segment_is_a_token(api: NotesApi, token: str) -> None:
    response = await ask(api.application, "GET", f"/published/{token}")
    assert response.status == 200
    page = response.body.decode()
    assert "<script>" not in page
    assert page.replace(token, "TOKEN") == await unknown(api).read()


async def test_right_password_puts_a_ticket_into_every_address(api: NotesApi) -> None:
    green = await api.note("tea/green.md", "Green tea. ![[cup.png]] [[black]]")
    black = await api.note("tea/black.md", "Black tea.")
    await image_in(api)
    link = await api.publish(TEA, password=PASSWORD)
    listed = await link.open(PASSWORD)
    ticket = ticket_on(listed)
    assert hrefs(listed, "?note=") == [
        f"?note={each.id}&ticket={ticket}" for each in (black, green)
    ]
    page = await link.read(f"?note={green.id}&ticket={ticket}")
    assert ticket_on(page) == ticket
    assert "Green tea." in page
    opened_note = await link.open(PASSWORD, f"?note={green.id}")
    assert "Green tea." in opened_note
    assert await link.read(f"?note={green.id}") == await unknown(api).read()


async def test_page_that_opening_shows_leads_to_its_own_address(api: NotesApi) -> None:
    note = await api.note("tea/green.md", "Green tea.")
    link = await api.publish(TEA, openings=2)
    for query, more in (("", ""), (f"?note={note.id}", f"note={note.id}&")):
        page = await link.open("", query)
        [address] = re.findall(r'<meta http-equiv="refresh" content="0;url=TOKEN([^"]*)">', page)
        address = address.replace("&amp;", "&")
        assert address == f"?{more}ticket={ticket_on(page)}"
        again = await link.read(address)
        assert "green" in again
        assert "refresh" not in again
    # What opens nothing stays where it is.
    assert "refresh" not in await link.open()


async def test_password_is_compared_in_its_normalized_form(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(TEA, password="ﬁve o'clock é")
    assert "green" in await link.open("five o'clock é")


async def test_ticket_ends_after_its_time(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(TEA, password=PASSWORD)
    ticket = ticket_on(await link.open(PASSWORD))
    api.sources.time += TICKET_SECONDS - 1
    assert "green" in await link.read(f"?ticket={ticket}")
    api.sources.time += 1
    assert await link.read(f"?ticket={ticket}") == await unknown(api).read()


async def test_ticket_is_for_one_link_and_dies_with_it(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link, other = [await api.publish(TEA, password=PASSWORD) for _ in range(2)]
    ticket = ticket_on(await link.open(PASSWORD))
    assert await other.read(f"?ticket={ticket}") == await unknown(api).read()
    await api.owner.delete(f"{api.place}/publications/{link.id}")
    assert await link.read(f"?ticket={ticket}") == await unknown(api).read()


async def test_tickets_outlive_the_rotation_of_their_key(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(TEA, password=PASSWORD)
    await link.open(PASSWORD)
    api.sources.time += 86_399
    ticket = ticket_on(await link.open(PASSWORD))
    api.sources.time += 2
    newer = ticket_on(await link.open(PASSWORD))
    assert newer[:6] != ticket[:6]
    assert "green" in await link.read(f"?ticket={ticket}")
    assert "green" in await link.read(f"?ticket={newer}")


async def test_openings_are_counted_by_the_button_alone(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(TEA, openings=2)
    for method in ("GET", "HEAD", "GET"):
        await ask(api.application, method, link.path)
    ticket = ticket_on(await link.open())
    for _ in range(3):
        assert "green" in await link.read(f"?ticket={ticket}")
    assert "green" in await link.open()
    assert await link.open() == await unknown(api).read()
    assert "green" in await link.read(f"?ticket={ticket}")
    [listed] = (await api.owner.get(f"{api.place}/publications")).json()["items"]
    assert (listed["openings"], listed["state"]) == (2, "live")


async def test_opening_that_shows_nothing_does_not_count(api: NotesApi) -> None:
    note = await api.note("tea/green.md")
    link = await api.publish(TEA, openings=1)
    closed = await unknown(api).read()
    assert await link.open("", f"?note={UNKNOWN_ID}") == closed
    await note.delete()
    assert await link.open() == closed
    await note.restore()
    assert "green" in await link.open()


async def test_link_that_ends_while_its_password_is_verified_opens_nothing(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(TEA, password=PASSWORD)

    async def revoke() -> None:
        await api.owner.delete(f"{api.place}/publications/{link.id}")

    async def revoke_before_the_second() -> None:
        api.store.before_read = revoke

    api.store.before_read = revoke_before_the_second
    assert await link.open(PASSWORD) == await unknown(api).read()


async def test_wrong_password_is_no_opening(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(TEA, openings=1, password=PASSWORD)
    for wrong in ("", "wrong password"):
        assert await link.open(wrong) == await unknown(api).read()
    assert "green" in await link.open(PASSWORD)
    assert await link.open(PASSWORD) == await unknown(api).read()


async def test_concurrent_openings_never_exceed_the_limit(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(TEA, openings=3)
    pages: list[str] = []

    async def open_link() -> None:
        pages.append(await link.open())

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(open_link)
    assert sum("green" in page for page in pages) == 3


async def test_attempts_of_one_link_are_limited_also_for_unknown_tokens(api: NotesApi) -> None:
    await api.note("tea/green.md")
    rate = RATES["published-link"].account
    assert rate is not None
    for link in (await api.publish(TEA, password=PASSWORD), unknown(api)):
        for _ in range(rate.count):
            await api.publishing.reading.open(link.token, None, "wrong password")
        with pytest.raises(TooManyAttempts):
            await api.publishing.reading.open(link.token, None, PASSWORD)


async def test_attempts_of_one_client_are_limited(api: NotesApi) -> None:
    for number in range(RATES["published-link"].client.count):
        await Published(api, "", f"{number:032}").open("wrong password")
    body = b"password=" + PASSWORD.encode()
    response = await ask(api.application, "POST", unknown(api).path, headers=[FORM], body=[body])
    assert refusal(response) == (429, "rate_limited")


async def test_image_is_proven_on_every_call(api: NotesApi) -> None:
    note = await api.note("tea/green.md", "![[cup.png]]")
    image = await image_in(api)
    other = await image_in(api, "attachments/other.png")
    link = await api.publish({"kind": "note", "fileId": note.id})
    [address] = hrefs(await link.read(), "/attachments/")
    found = await link.image(f"{link.token}{address}")
    assert (found.status, found.body) == (200, PNG)
    assert found.header("content-type") == "image/png"
    assert found.header("content-disposition") == 'inline; filename="cup.png"'
    assert found.header("cache-control") == "private, no-cache"
    tag = found.header("etag") or ""
    path = f"{link.path}{address}"
    again = await ask(api.application, "GET", path, headers=[(b"if-none-match", tag.encode())])
    assert (again.status, again.body) == (304, b"")

    def address_of(change: Json, revision: str = "") -> str:
        return f"/attachments/{change['fileId']}/{revision or change['revision']['id']}"

    refused = [
        f"{link.token}{address_of(other)}",
        f"{link.token}{address_of(image, note.revision)}",
        f"{link.token}/attachments/{note.id}/{note.revision}",
        f"{link.token}{address_of(image)}?note={UNKNOWN_ID}",
        f"{'A' * 32}{address}",
    ]
    bodies = set()
    for each in refused:
        response = await link.image(each)
        assert refusal(response) == (404, "not_found")
        bodies.add(response.body)
    assert len(bodies) == 1
    await note.update(text="No image any more.")
    assert (await link.image(f"{link.token}{address}")).status == 404


def personal(form: str) -> bytes:
    """An image with the position and the names of its owner."""
    if form == "GIF":
        return animation("GIF", (40, 30), 3, comment=b"A comment of Ada")
    return encoded(picture((40, 30)), form, exif=personal_exif(), icc_profile=SRGB)


async def shown_by(api: NotesApi, data: bytes, form: str = "JPEG") -> tuple[str, Json]:
    """Publish a note with an image; return the address of the image, and its change."""
    name, media_type = f"cup.{form.lower()}", f"image/{form.lower()}"
    object_id = await api.upload(data, name, media_type)
    path = {"path": f"attachments/{name}"}
    made = await api.owner.post(f"{api.place}/attachments/{object_id}/finalize", path)
    note = await api.note("tea/green.md", f"![[{name}]]")
    link = await api.publish({"kind": "note", "fileId": note.id})
    [address] = hrefs(await link.read(), "/attachments/")
    return f"{link.path}{address}", made.json()


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
async def test_image_is_published_without_personal_metadata(api: NotesApi, form: str) -> None:
    original = personal(form)
    path, image = await shown_by(api, original, form)
    head = await ask(api.application, "HEAD", path)
    sent = await ask(api.application, "GET", path)
    assert (sent.status, sent.header("content-type")) == (200, f"image/{form.lower()}")
    assert b"Ada" in original
    assert b"Ada" not in sent.body
    assert pixels(sent.body) == pixels(original)
    assert sent.header("content-length") == head.header("content-length") == str(len(sent.body))
    # The tag is not that of the file, which members read as it was uploaded.
    of_file = f'"{image["revision"]["id"]}"'
    assert sent.header("etag") == head.header("etag") != of_file
    for tag, status in ((of_file, 200), (sent.header("etag") or "", 304)):
        headers = [(b"if-none-match", tag.encode()), (b"range", b"bytes=0-99999")]
        again = await ask(api.application, "GET", path, headers=headers)
        assert (again.status, again.header("etag")) == (status, sent.header("etag"))
        assert again.body == (sent.body if status == 200 else b"")
    whole = await api.owner.get(f"{api.place}/files/{image['fileId']}/content")
    assert whole.body == original


async def test_image_whose_metadata_can_not_be_removed_is_not_sent(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = await shown_by(api, personal("JPEG"))

    def fail(path: str, out: str) -> bool:
        raise InvalidImage("It is damaged.")

    with monkeypatch.context() as failing:
        failing.setattr("octavo.features.images.worker.metadata.remove_personal_metadata", fail)
        for method in ("GET", "HEAD"):
            response = await ask(api.application, method, path)
            assert (response.status, response.header("etag")) == (503, None)
            assert b"Ada" not in response.body
    assert (await ask(api.application, "GET", path)).status == 200


async def test_image_whose_copy_may_not_be_written_is_not_sent() -> None:
    async with opened(InstallationLimits(writes=1)) as api:
        path, _ = await shown_by(api, personal("JPEG"))
        assert refusal(await ask(api.application, "GET", path)) == (503, "storage_busy")
    async with opened(InstallationLimits(writes=1)) as api:
        # There is nothing to remove, and nothing to write.
        path, _ = await shown_by(api, PNG, "PNG")
        assert (await ask(api.application, "GET", path)).body == PNG


async def test_image_of_a_folder_link_is_found_without_the_note(api: NotesApi) -> None:
    await api.note("tea/green.md", "![[cup.png]]")
    await api.note("food/soup.md", "![[other.png]]")
    image, other = await image_in(api), await image_in(api, "attachments/other.png")
    link = await api.publish(TEA)

    async def status(change: Json) -> int:
        revision = change["revision"]["id"]
        path = f"{link.token}/attachments/{change['fileId']}/{revision}"
        return (await link.image(path)).status

    assert (await status(image), await status(other)) == (200, 404)


async def test_image_is_found_whatever_notes_outside_of_the_link_show_it(api: NotesApi) -> None:
    for number in range(20):
        await api.note(f"food/{number}.md", "![[cup.png]]")
    await api.note("tea/green.md", "![[cup.png]]")
    image = await image_in(api)
    link = await api.publish(TEA)
    path = f"{link.token}/attachments/{image['fileId']}/{image['revision']['id']}"
    assert (await link.image(path)).status == 200


@pytest.mark.parametrize(
    "text", ["%%![[cup.png]]%%", "---\na: '![[cup.png]]'\n---\n", "<script>![[cup.png]]</script>"]
)
async def test_image_that_a_note_does_not_show_is_not_sent(api: NotesApi, text: str) -> None:
    note = await api.note("tea/green.md", text)
    image = await image_in(api)
    link = await api.publish(TEA)
    path = f"{link.token}/attachments/{image['fileId']}/{image['revision']['id']}"
    for query in ("", f"?note={note.id}"):
        assert refusal(await link.image(path + query)) == (404, "not_found")


async def test_image_of_a_closed_link_needs_the_ticket(api: NotesApi) -> None:
    await api.note("tea/green.md", "![[cup.png]]")
    await image_in(api)
    link = await api.publish(WHOLE, password=PASSWORD)
    listed = await link.open(PASSWORD)
    [note] = hrefs(listed, "?note=")
    [address] = hrefs(await link.read(note), "/attachments/")
    assert (await link.image(link.token + address)).status == 200
    bare = address.partition("&ticket=")[0]
    assert (await link.image(link.token + bare)).status == 404


async def test_edited_note_is_read_as_it_is_now(api: NotesApi) -> None:
    note = await api.note("tea/green.md", "Before.")
    link = await api.publish(TEA)
    assert "Before." in await link.read(f"?note={note.id}")
    await note.update(text="After.")
    assert "After." in await link.read(f"?note={note.id}")
    black = await api.note("tea/black.md")
    assert black.id in await link.read()


async def test_list_is_not_that_of_a_map_which_was_dropped(api: NotesApi) -> None:
    notes = [await api.note(f"tea/{number}.md") for number in range(3)]
    link = await api.publish(TEA)
    assert len(hrefs(await link.read(), "?note=")) == 3
    await notes[0].update(path="food/0.md")
    api.publishing.reading._access._sites._maps.clear()
    assert len(hrefs(await link.read(), "?note=")) == 2


async def test_replaced_image_is_shown_in_its_newest_revision(api: NotesApi) -> None:
    note = await api.note("tea/green.md", "![[cup.png]]")
    image = await image_in(api)
    link = await api.publish({"kind": "note", "fileId": note.id})
    [before] = hrefs(await link.read(), "/attachments/")
    object_id = await api.upload(encoded(picture((8, 8), seed=1), "PNG"))
    replaced = await api.owner.post(
        f"{api.place}/attachments/{object_id}/finalize",
        {"path": "attachments/cup.png", "fileId": image["fileId"]},
        if_match=f'"{image["revision"]["id"]}"',
    )
    assert replaced.status == 200
    [after] = hrefs(await link.read(), "/attachments/")
    assert before != after
    assert (await link.image(link.token + before)).status == 404
    assert (await link.image(link.token + after)).status == 200


async def test_purged_note_is_gone_from_what_was_rendered(api: NotesApi) -> None:
    note = await api.note("tea/green.md", "A secret.")
    link = await api.publish({"kind": "note", "fileId": note.id})
    assert "A secret." in await link.read()
    await api.publishing.renderings.flush()
    await note.delete()
    await note.purge()
    assert await link.read() == await unknown(api).read()


async def test_readers_are_counted_for_the_owner_and_limited() -> None:
    limits = InstallationLimits(DownloadLimits(objects=2))
    async with opened(limits) as api:
        note = await api.note("tea/green.md", "![[cup.png]]")
        await image_in(api)
        link = await api.publish({"kind": "note", "fileId": note.id})
        page = await link.read()
        [address] = hrefs(page, "/attachments/")
        await ask(api.application, "HEAD", link.path)
        assert (await link.image(link.token + address)).status == 200
        assert await link.read() == await unknown(api).read()
        assert refusal(await link.image(link.token + address)) == (404, "not_found")


async def test_reader_learns_of_no_note_outside_the_link(api: NotesApi) -> None:
    """The pages of a folder are the same with and without other notes, at every address."""
    texts = "[[b]] [[x/b]] [b](b.md) [[a]] ![[b]] [c](../c.md) [[c]] [[/c]] [r][r]\n\n[r]: ../b.md"
    ids = [(await api.note(path, texts)).id for path in ("tea/a.md", "tea/x/b.md")]
    link = await api.publish(TEA)
    queries = ["", *(f"?note={each}" for each in ids)]
    before = [await link.read(query) for query in queries]
    outside = [
        await api.note(path, texts)
        for path in ("b.md", "c.md", "Tea/b.md", "x/b.md", "teas/b.md", "tea.md")
    ]
    assert [await link.read(query) for query in queries] == before
    closed = await unknown(api).read()
    for note in outside:
        assert await link.read(f"?note={note.id}") == closed
        assert await link.open("", f"?note={note.id}") == closed
    for note, image in product(outside, ids):
        path = f"{link.token}/attachments/{image}/{note.revision}?note={note.id}"
        assert refusal(await link.image(path)) == (404, "not_found")
