"""Creating, listing, renaming and deleting workspaces."""

import pytest
from octavo_rules.identity import WRITE

from octavo.store import Transaction
from octavo.store.queries.sweeping import sweep
from tests.fakes.notes_api import NOBODYS, ROLES, NotesApi, refusal

WORKSPACES = "/api/workspaces"
START = "2027-01-15T08:00:00.000Z"


async def test_created_workspace_belongs_to_its_creator_only(api: NotesApi) -> None:
    stranger = api.client("stranger")
    made = await stranger.post(WORKSPACES, {"name": "  Mine "})
    document = made.json()
    assert made.status == 201
    assert document.pop("id")
    assert document == {"name": "Mine", "role": "owner", "createdAt": START}
    assert (await stranger.get(WORKSPACES)).json()["items"] == [made.json()]
    others = (await api.owner.get(WORKSPACES)).json()["items"]
    assert [each["name"] for each in others] == ["Vault"]


@pytest.mark.parametrize("role", ROLES)
async def test_workspace_is_listed_with_the_role_of_the_account_in_it(
    api: NotesApi, role: str
) -> None:
    page = (await api.client(role).get(WORKSPACES)).json()
    assert [(each["id"], each["role"]) for each in page["items"]] == [(api.workspace_id, role)]
    assert page["next"] is None


async def test_workspaces_are_listed_page_by_page_while_others_come_and_go(
    api: NotesApi,
) -> None:
    names = [f"w{number}" for number in range(5)]
    ids = []
    for name in names:
        made = await api.owner.post(WORKSPACES, {"name": name})
        ids.append(made.json()["id"])
    first = (await api.owner.get(f"{WORKSPACES}?limit=3")).json()
    await api.owner.post(WORKSPACES, {"name": "late"})
    await api.owner.delete(f"{WORKSPACES}/{ids[0]}")
    rest = (await api.owner.get(f"{WORKSPACES}?limit=10&after={first['next']}")).json()
    received = [each["name"] for each in (*first["items"], *rest["items"])]
    assert received == ["Vault", *names, "late"]
    assert rest["next"] is None


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
async def test_pages_of_any_size_hold_every_workspace_once(api: NotesApi, limit: int) -> None:
    for number in range(5):
        await api.owner.post(WORKSPACES, {"name": f"w{number}"})
    listed = await api.owner.pages(WORKSPACES, limit)
    assert [each["name"] for each in listed] == ["Vault", "w0", "w1", "w2", "w3", "w4"]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "/query/limit"),
        ("limit=501", "/query/limit"),
        ("limit=ten", "/query/limit"),
        ("after=", "/query/after"),
        ("after=!!!", "/query/after"),
        ("after=WyJhIiwiYiJd", "/query/after"),
        ("after=WzFd", "/query/after"),
        ("after=WyJcdTAwMDAiXQ", "/query/after"),
        ("after=WyJcdWQ4MDAiXQ", "/query/after"),
        ("order=name", "/query/order"),
    ],
)
async def test_malformed_page_is_refused(api: NotesApi, query: str, pointer: str) -> None:
    response = await api.owner.get(f"{WORKSPACES}?{query}")
    assert refusal(response) == (400, "invalid_request")
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]


@pytest.mark.parametrize("role", ["owner", "administrator"])
async def test_workspace_is_renamed_by_managers(api: NotesApi, role: str) -> None:
    response = await api.client(role).put(api.place, {"name": "Anew"})
    assert response.status == 200
    assert response.json() == {
        "id": api.workspace_id,
        "name": "Anew",
        "role": role,
        "createdAt": START,
    }
    assert (await api.owner.get(WORKSPACES)).json()["items"][0]["name"] == "Anew"


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({}, "/name"),
        ({"name": " "}, "/name"),
        ({"name": "a\nb"}, "/name"),
        ({"name": "a\0b"}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"name": 1}, "/name"),
        ({"name": None}, "/name"),
        ({"name": "a", "role": "owner"}, "/role"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_invalid_name_is_refused(
    api: NotesApi, method: str, document: object, pointer: str
) -> None:
    place = WORKSPACES if method == "POST" else api.place
    response = await api.owner.ask(method, place, document)
    assert refusal(response) == (400, "invalid_request")
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
    assert [each["name"] for each in await api.owner.pages(WORKSPACES, 9)] == ["Vault"]


async def test_deleted_workspace_takes_its_content_with_it_and_is_announced(
    api: NotesApi,
) -> None:
    note = await api.note("a.md")
    response = await api.owner.delete(api.place)
    assert (response.status, response.json()) == (200, {"removed": True})
    assert api.gone == [api.workspace_id]
    assert (await api.owner.get(WORKSPACES)).json()["items"] == []
    assert refusal(await note.read()) == (404, "not_found")
    assert refusal(await api.owner.delete(api.place)) == (404, "not_found")
    while await api.store.write(sweep()):
        pass
    for table in ("files", "revisions", "contents", "receipts", "members"):
        assert await rows(api, f"SELECT 1 FROM {table}") == []


async def rows(api: NotesApi, sql: str) -> list[object]:
    async def script(transaction: Transaction) -> list[object]:
        return list(await transaction.fetch_all(sql))

    return await api.store.read(script)


async def test_workspaces_outside_the_limits_of_a_key_do_not_exist(api: NotesApi) -> None:
    others = [
        (await api.owner.post("/api/workspaces", {"name": name})).json()["id"] for name in "ABC"
    ]
    key = api.key(WRITE, workspaces=[others[0], others[2], NOBODYS])
    listed = await key.pages("/api/workspaces", 1)
    assert [each["id"] for each in listed] == [others[0], others[2]]
    assert (await key.get(f"/api/workspaces/{others[0]}")).status == 200
    for place in (f"/api/workspaces/{others[1]}", f"/api/workspaces/{NOBODYS}", api.files):
        assert refusal(await key.get(place)) == (404, "not_found")
