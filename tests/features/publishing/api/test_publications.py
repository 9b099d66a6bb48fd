"""Create, list and revoke published links."""

from dataclasses import dataclass

import pytest

from octavo.access.attempts import GRANTS, RATES
from octavo.features.accounts.sql.account_removal import remove
from octavo.store import Transaction
from tests.fakes.asgi_client import Response
from tests.fakes.notes_api import Json, NotesApi, account_id, refusal
from tests.fakes.publishing_rig import MAXIMUM, PUBLIC_URL

UNKNOWN = "01900000-0000-7000-8000-eeeeeeeeeeee"
WHOLE = {"kind": "folder", "path": ""}


def links(api: NotesApi) -> str:
    return f"{api.place}/publications"


async def test_link_of_a_note_is_shown_once_with_its_token(api: NotesApi) -> None:
    note = await api.note("tea/green.md")
    target = {"kind": "note", "fileId": note.id}
    made = (
        await api.owner.post(
            links(api),
            {
                "target": target,
                "label": " From Ann ",
                "password": "open sesame",
                "openings": 3,
                "expiresAt": "2030-01-01T00:00:00+01:00",
            },
        )
    ).json()
    token = made.pop("token")
    assert len(token) == 32
    assert made.pop("address") == f"{PUBLIC_URL}/published/{token}"
    assert made["target"] == {"kind": "note", "fileId": note.id, "path": "tea/green.md"}
    assert made["label"] == "From Ann"
    assert made["hasPassword"] is True
    assert made["openings"] == 3
    assert made["state"] == "live"
    assert made["expiresAt"] == "2029-12-31T23:00:00.000Z"
    listed = (await api.owner.get(links(api))).json()
    assert listed == {"items": [made], "next": None}
    assert token not in str(listed)


async def test_links_are_listed_newest_first_page_by_page(api: NotesApi) -> None:
    await api.note("tea/green.md")
    made = [await api.publish(WHOLE) for _ in range(4)]
    items = await api.owner.pages(links(api), 3)
    assert [each["id"] for each in items] == [each.id for each in reversed(made)]


@pytest.mark.parametrize("name", ["administrator", "editor", "reader", "stranger"])
async def test_members_who_manage_the_workspace_may_publish(api: NotesApi, name: str) -> None:
    await api.note("tea/green.md")
    client = api.client(name)
    made = await client.post(links(api), {"target": WHOLE})
    listed = await client.get(links(api))
    revoked = await client.delete(f"{links(api)}/{UNKNOWN}")
    expected = {
        "administrator": (201, 200, 404),
        "editor": (403, 403, 403),
        "reader": (403, 403, 403),
        "stranger": (404, 404, 404),
    }
    assert (made.status, listed.status, revoked.status) == expected[name]


@pytest.mark.parametrize(
    "target",
    [
        {"kind": "note", "fileId": UNKNOWN},
        {"kind": "folder", "path": "coffee"},
        {"kind": "folder", "path": "tea/green.md"},
        {"kind": "folder", "path": "te"},
    ],
)
async def test_only_what_exists_can_be_published(api: NotesApi, target: dict[str, str]) -> None:
    await api.note("tea/green.md")
    assert refusal(await api.owner.post(links(api), {"target": target})) == (404, "not_found")


async def test_image_alone_cannot_be_published(api: NotesApi) -> None:
    note = await api.note("tea/green.md")
    await api.execute("UPDATE files SET kind = 'attachment' WHERE file_id = $1::uuid", note.id)
    target = {"kind": "note", "fileId": note.id}
    assert refusal(await api.owner.post(links(api), {"target": target})) == (404, "not_found")


async def test_deleted_note_cannot_be_published(api: NotesApi) -> None:
    note = await api.note("tea/green.md")
    await note.delete()
    target = {"kind": "note", "fileId": note.id}
    assert refusal(await api.owner.post(links(api), {"target": target})) == (404, "not_found")


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({"label": "two\nlines"}, "/label"),
        ({"label": "x" * 201}, "/label"),
        ({"label": ""}, "/label"),
        ({"password": "short"}, "/password"),
        ({"password": ""}, "/password"),
        ({"password": "x" * 257}, "/password"),
        ({"expiresAt": "2001-01-01T00:00:00Z"}, "/expiresAt"),
        ({"openings": 0}, "/openings"),
        ({"pasword": "open sesame"}, "/pasword"),
    ],
)
async def test_what_is_wrong_with_a_new_link_is_named(
    api: NotesApi, given: dict[str, object], pointer: str
) -> None:
    await api.note("tea/green.md")
    response = await api.owner.post(links(api), {"target": WHOLE, **given})
    assert refusal(response) == (400, "invalid_request")
    assert [each["pointer"] for each in response.json()["errors"]] == [pointer]


async def test_folder_that_no_path_can_have_is_refused(api: NotesApi) -> None:
    target = {"kind": "folder", "path": "tea/../.."}
    assert refusal(await api.owner.post(links(api), {"target": target})) == (422, "invalid_path")


async def test_live_links_of_a_workspace_are_limited(api: NotesApi) -> None:
    await api.note("tea/green.md")
    made = [await api.publish(WHOLE) for _ in range(MAXIMUM)]
    assert refusal(await api.owner.post(links(api), {"target": WHOLE})) == (422, "too_many_links")
    await api.owner.delete(f"{links(api)}/{made[0].id}")
    await api.publish(WHOLE)
    await api.execute("UPDATE publications SET taken_down_at = 1 WHERE id = $1::uuid", made[1].id)
    await api.publish(WHOLE)
    assert refusal(await api.owner.post(links(api), {"target": WHOLE})) == (422, "too_many_links")


async def test_a_person_may_create_only_so_many_links(api: NotesApi) -> None:
    rate = RATES[GRANTS].account
    assert rate is not None
    # What is refused, as there is no note, is counted, too.
    for _ in range(rate.count):
        assert (await api.owner.post(links(api), {"target": WHOLE})).status == 404
    assert refusal(await api.owner.post(links(api), {"target": WHOLE})) == (429, "rate_limited")


async def test_revoked_link_stays_in_the_list(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(WHOLE)
    for _ in range(2):
        assert (await api.owner.delete(f"{links(api)}/{link.id}")).json() == {"removed": True}
    [listed] = (await api.owner.get(links(api))).json()["items"]
    assert listed["state"] == "revoked"


async def obstacles(api: NotesApi) -> list[str | None]:
    """What keeps the links from opening anything, the oldest link first."""
    items = (await api.owner.get(links(api))).json()["items"]
    return [each["obstacle"] for each in reversed(items)]


async def test_list_says_which_links_open_nothing(api: NotesApi) -> None:
    green, black = await api.note("tea/green.md"), await api.note("tea 2/black.md")
    folder = {"kind": "folder", "path": "tea"}
    made = [
        await api.publish({"kind": "note", "fileId": green.id}),
        await api.publish(folder),
        await api.publish(WHOLE),
    ]
    ended = await api.publish(folder)
    await api.owner.delete(f"{links(api)}/{ended.id}")

    async def readable() -> list[bool]:
        return ["Open this link" not in await each.read() for each in made]

    assert await obstacles(api) == [None] * 4
    assert await readable() == [True, True, True]
    await green.delete()
    assert await obstacles(api) == ["no_note", "no_note", None, None]
    assert await readable() == [False, False, True]
    await green.restore()
    assert await obstacles(api) == [None] * 4
    await green.update(path="tea 2/green.md")
    assert await obstacles(api) == [None, "no_note", None, None]
    await green.delete()
    await black.delete()
    await green.purge()
    assert await obstacles(api) == ["no_note", "no_note", "no_note", None]
    await api.execute("UPDATE accounts SET controls_publishing = 0")
    assert await obstacles(api) == ["creator", "creator", "creator", None]
    assert await readable() == [False, False, False]


async def test_link_of_another_workspace_is_not_found(api: NotesApi) -> None:
    await api.note("tea/green.md")
    link = await api.publish(WHOLE)
    other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    response = await api.owner.delete(f"/api/workspaces/{other}/publications/{link.id}")
    assert refusal(response) == (404, "not_found")
    assert (await api.owner.get(f"/api/workspaces/{other}/publications")).json()["items"] == []


async def test_operator_can_forbid_publishing(api: NotesApi) -> None:
    await api.note("tea/green.md", "Green tea.")
    link = await api.publish(WHOLE)
    assert "green" in await link.read()
    await api.execute("UPDATE accounts SET controls_publishing = 0")
    assert refusal(await api.owner.post(links(api), {"target": WHOLE})) == (403, "forbidden")
    assert "green" not in await link.read()


async def test_link_of_a_note_follows_it(api: NotesApi) -> None:
    note = await api.note("tea/green.md", "Green tea.")
    link = await api.publish({"kind": "note", "fileId": note.id})
    await note.update(path="drinks/matcha.md")
    assert "Green tea." in await link.read()
    [listed] = (await api.owner.get(links(api))).json()["items"]
    assert listed["target"]["path"] == "drinks/matcha.md"


def moves(**paths: tuple[str, str]) -> list[dict[str, str]]:
    return [
        {"op": "update", "fileId": name, "ifMatch": revision, "path": path}
        for name, (revision, path) in paths.items()
    ]


async def test_link_of_a_folder_follows_it_when_it_moves_as_a_whole(api: NotesApi) -> None:
    green, black = await api.note("tea/green.md"), await api.note("tea/x/black.md")
    await api.note("food/soup.md")
    await api.publish({"kind": "folder", "path": "tea"})

    async def path() -> str:
        [listed] = (await api.owner.get(links(api))).json()["items"]
        found: str = listed["target"]["path"]
        return found

    async def move(**paths: tuple[str, str]) -> None:
        response = await api.push(*moves(**paths))
        assert response.status == 200, response.body
        for change in response.json()["changes"]:
            for note in (green, black):
                if note.id == change["fileId"]:
                    note.tag = f'"{change["revision"]["id"]}"'

    await move(**{green.id: (green.revision, "drinks/tea/green.md")})
    assert await path() == "tea"
    await move(**{green.id: (green.revision, "tea/green.md")})
    await move(
        **{
            green.id: (green.revision, "drinks/tea/green.md"),
            black.id: (black.revision, "drinks/tea/x/black.md"),
        }
    )
    assert await path() == "drinks/tea"
    # There is a note that was never published.
    await move(
        **{
            green.id: (green.revision, "food/green.md"),
            black.id: (black.revision, "food/x/black.md"),
        }
    )
    assert await path() == "drinks/tea"


async def paths(api: NotesApi) -> list[str]:
    """The paths of the links, in the order in which they were made."""
    items = (await api.owner.get(links(api))).json()["items"]
    return [each["target"]["path"] for each in reversed(items)]


@pytest.mark.parametrize("third", ["drinks", "lunch"])
async def test_links_of_folders_follow_when_one_takes_the_place_of_another(
    api: NotesApi, third: str
) -> None:
    soup, tea = await api.note("drinks/soup.md"), await api.note("food/tea.md")
    for folder in ("drinks", "food"):
        await api.publish({"kind": "folder", "path": folder})
    changes = {soup.id: (soup.revision, "food/soup.md"), tea.id: (tea.revision, f"{third}/tea.md")}
    assert (await api.push(*moves(**changes))).status == 200
    assert await paths(api) == ["food", third]


async def test_link_of_a_folder_follows_a_note_whose_earlier_text_is_restored_elsewhere(
    api: NotesApi,
) -> None:
    note = await api.note("tea/green.md", "Before.")
    first = note.revision
    await note.update(text="After.")
    await api.publish({"kind": "folder", "path": "tea"})
    restored = {"op": "restore", "fileId": note.id, "ifMatch": note.revision, "revisionId": first}
    assert (await api.push({**restored, "path": "drinks/green.md"})).status == 200
    assert await paths(api) == ["drinks"]


@pytest.mark.parametrize(
    ("decision", "left"),
    [("state = 'disabled'", 0), ("controls_publishing = 0", 0), ("state = 'locked'", 1)],
)
async def test_links_of_a_removed_account_stay_if_they_opened_something(
    api: NotesApi, decision: str, left: int
) -> None:
    await api.note("tea/green.md", "Green tea.")
    await api.member("second", "owner")
    link = await api.publish(WHOLE)
    await api.execute(f"UPDATE accounts SET {decision} WHERE address = 'owner'")
    await api.store.write(remove(account_id("owner")))
    items = (await api.client("second").get(links(api))).json()["items"]
    assert [each["createdBy"] for each in items] == [None] * left
    assert ("green" in await link.read()) == bool(left)


@pytest.mark.parametrize("decision", ["state = 'disabled'", "controls_publishing = 0"])
async def test_link_that_was_taken_down_stays_when_its_creator_is_removed(
    api: NotesApi, decision: str
) -> None:
    await api.note("tea/green.md")
    await api.member("second", "owner")
    link = await api.publish(WHOLE)
    await api.execute("UPDATE publications SET taken_down_at = 1 WHERE id = $1::uuid", link.id)
    await api.execute(f"UPDATE accounts SET {decision} WHERE address = 'owner'")
    await api.store.write(remove(account_id("owner")))
    [left] = (await api.client("second").get(links(api))).json()["items"]
    assert (left["id"], left["state"], left["createdBy"]) == (link.id, "taken_down", None)


async def test_locked_account_cannot_publish(api: NotesApi) -> None:
    await api.note("tea/green.md")
    api.authenticator.locked.add("owner")
    assert refusal(await api.owner.post(links(api), {"target": WHOLE})) == (423, "account_locked")
    assert refusal(await api.owner.get(links(api))) == (423, "account_locked")


async def test_link_has_something_to_read_only_in_a_note_below_its_folder(api: NotesApi) -> None:
    other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    elsewhere = {"path": "tea/other.md", "text": "text"}
    response = await api.owner.post(f"/api/workspaces/{other}/files", elsewhere)
    assert response.status == 201
    note, neighbour = await api.note("tea/green.md"), await api.note("teapot/a.md")
    await api.publish({"kind": "folder", "path": "tea"})
    await api.publish(WHOLE)
    await api.publish({"kind": "note", "fileId": note.id})
    assert await obstacles(api) == [None] * 3
    # As if it were an image.
    await api.execute("UPDATE files SET kind = 'attachment' WHERE file_id = $1::uuid", note.id)
    assert await obstacles(api) == ["no_note", None, "no_note"]
    await neighbour.delete()
    assert await obstacles(api) == ["no_note"] * 3


@dataclass
class Elsewhere:
    """Another workspace of the same owner, with a note."""

    api: NotesApi
    place: str
    note: str

    async def publish(self, target: Json) -> Response:
        return await self.api.owner.post(f"{self.place}/publications", {"target": target})


@pytest.fixture
async def elsewhere(api: NotesApi) -> Elsewhere:
    made = await api.owner.post("/api/workspaces", {"name": "Other"})
    place = f"/api/workspaces/{made.json()['id']}"
    note = await api.owner.post(f"{place}/files", {"path": "coffee/a.md", "text": "text"})
    return Elsewhere(api, place, note.json()["fileId"])


async def test_only_what_is_in_the_workspace_is_published(
    api: NotesApi, elsewhere: Elsewhere
) -> None:
    await api.note("tea/green.md")
    for target in (
        {"kind": "note", "fileId": elsewhere.note},
        {"kind": "folder", "path": "coffee"},
    ):
        assert (await api.owner.post(links(api), {"target": target})).status == 404
        assert (await elsewhere.publish(target)).status == 201


async def test_links_of_other_workspaces_are_not_counted(
    api: NotesApi, elsewhere: Elsewhere
) -> None:
    await api.note("tea/green.md")
    for _ in range(MAXIMUM):
        assert (await elsewhere.publish(WHOLE)).status == 201
    await api.publish(WHOLE)
    assert refusal(await elsewhere.publish(WHOLE)) == (422, "too_many_links")


async def test_link_is_revoked_once(api: NotesApi) -> None:
    async def stored() -> list[tuple[object, ...]]:
        async def script(transaction: Transaction) -> list[tuple[object, ...]]:
            rows = await transaction.fetch_all("SELECT revoked_at FROM publications ORDER BY id")
            return [tuple(row) for row in rows]

        return await api.store.read(script)

    await api.note("tea/green.md")
    first, second = await api.publish(WHOLE), await api.publish(WHOLE)
    await api.execute("UPDATE publications SET revoked_at = 7 WHERE id = $1::uuid", first.id)
    await api.owner.delete(f"{links(api)}/{first.id}")
    assert await stored() == [(7,), (None,)]
    await api.execute("UPDATE publications SET taken_down_at = 8 WHERE id = $1::uuid", second.id)
    await api.owner.delete(f"{links(api)}/{second.id}")
    assert await stored() == [(7,), (None,)]


async def test_links_of_others_stay_when_a_disabled_account_is_removed(api: NotesApi) -> None:
    await api.note("tea/green.md")
    await api.member("second", "owner")
    mine = await api.publish(WHOLE)
    made = await api.client("second").post(links(api), {"target": WHOLE})
    assert made.status == 201
    await api.execute("UPDATE accounts SET state = 'disabled' WHERE address = 'second'")
    await api.store.write(remove(account_id("second")))
    [left] = (await api.owner.get(links(api))).json()["items"]
    assert left["id"] == mine.id
    assert left["createdBy"] is not None
