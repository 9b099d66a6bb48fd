"""Maps of workspaces are exact, and few are kept."""

from octavo_rules.identity import Cursor, WorkspaceId

from octavo.features.publishing.rules import LinkTarget
from octavo.features.publishing.sql.site_changes import place_of
from octavo.features.publishing.workspace_map import WorkspaceMaps
from octavo.store.queries.workspaces import delete
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.notes_api import NotesApi, opened

WHOLE = LinkTarget("folder", None, "")


async def place(api: NotesApi, workspace_id: str = "") -> tuple[int, Cursor]:
    """The number of a workspace, and its cursor."""
    found = await api.store.read(place_of(WorkspaceId(workspace_id or api.workspace_id)))
    assert found is not None
    return found


async def paths(api: NotesApi, sites: WorkspaceMaps) -> list[str]:
    site = await sites.get(*await place(api))
    return [each.path for each in site.notes_below("")]


async def test_map_follows_every_change() -> None:
    async with opened() as api:
        sites = WorkspaceMaps(api.store)
        note = await api.note("a.md")
        assert await paths(api, sites) == ["a.md"]
        await api.note("b.md")
        await note.update(path="c.md")
        assert await paths(api, sites) == ["b.md", "c.md"]
        await note.delete()
        assert await paths(api, sites) == ["b.md"]
        await note.restore()
        assert await paths(api, sites) == ["b.md", "c.md"]
        await note.delete()
        await note.purge()
        assert await paths(api, sites) == ["b.md"]
        assert await paths(api, WorkspaceMaps(api.store)) == ["b.md"]


async def test_map_follows_a_history_that_was_taken_back() -> None:
    async with opened() as api, opened() as earlier:
        store = FaultyStore(api.store)
        sites = WorkspaceMaps(store)
        await api.note("a.md")
        await api.note("lost.md")
        await earlier.note("a.md")
        assert await paths(api, sites) == ["a.md", "lost.md"]
        lost = await place(api)
        shape = (await sites.get(*lost)).shape
        store.inner = earlier.store
        assert await paths(earlier, sites) == ["a.md"]
        place_now = await place(earlier)
        site = await sites.get(*place_now)
        assert (site.cursor, len(site)) == (place_now[1], 1)
        # Pages that were kept for the shape may lead to the lost note.
        assert site.shape > shape
        # Who found the workspace before gets what there is.
        assert await sites.get(*lost) is site


async def test_map_follows_a_history_that_came_to_the_same_position_on_another_way() -> None:
    async with opened() as api, opened() as other:
        store = FaultyStore(api.store)
        sites = WorkspaceMaps(store)
        for each in (api, other):
            note = await each.note("a.md")
        await api.note("lost.md")
        await note.delete()
        lost = await place(api)
        now = await place(other)
        assert (lost[0], lost[1].position) == (now[0], now[1].position)
        assert lost[1].mark != now[1].mark
        assert await paths(api, sites) == ["a.md", "lost.md"]
        store.inner = other.store
        assert await paths(other, sites) == []
        assert (await sites.get(*now)).cursor == now[1]


async def test_files_of_a_workspace_that_is_gone_are_in_no_map() -> None:
    async with opened() as api, opened() as earlier:
        store = FaultyStore(api.store)
        sites = WorkspaceMaps(store)
        await api.note("secret.md")
        assert await paths(api, sites) == ["secret.md"]
        await api.note("b.md")
        read_before = await place(api)
        await api.store.write(delete(WorkspaceId(api.workspace_id)))
        assert len(await sites.get(*read_before)) == 0
        # After a history was taken back, its number is given again.
        await earlier.note("x.md")
        assert (await place(earlier))[0] == read_before[0]
        store.inner = earlier.store
        assert await paths(earlier, sites) == ["x.md"]


async def test_map_that_is_exact_is_not_read_again() -> None:
    async with opened() as api:
        sites = WorkspaceMaps(api.store)
        await api.note("a.md")
        number, cursor = await place(api)
        site = await sites.get(number, cursor)
        assert await sites.get(number, cursor) is site
        assert (site.cursor, len(site)) == (cursor, 1)


async def test_map_that_was_not_used_between_two_rounds_is_forgotten() -> None:
    async with opened() as api:
        sites = WorkspaceMaps(api.store)
        await api.note("a.md")
        number, cursor = await place(api)
        site = await sites.get(number, cursor)
        sites.drop_unused()
        assert await sites.get(number, cursor) is site
        sites.drop_unused()
        assert await sites.get(number, cursor) is site
        sites.drop_unused()
        sites.drop_unused()
        assert await sites.get(number, cursor) is not site


async def test_large_workspace_is_mapped_in_steps() -> None:
    async with opened() as api:
        operations = [
            {"op": "create", "fileId": api.new_id(), "path": f"{number:04}.md", "text": ""}
            for number in range(450)
        ]
        assert (await api.push(*operations)).status == 200
        assert len(await paths(api, WorkspaceMaps(api.store))) == 450


async def test_maps_of_few_files_are_kept() -> None:
    async with opened() as api:
        sites = WorkspaceMaps(api.store, most_files=1)
        await api.note("a.md")
        await api.note("b.md")
        number, cursor = await place(api)
        site = await sites.get(number, cursor)
        # The map that is needed is kept in any case.
        assert await sites.get(number, cursor) is site
        other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
        body = {"path": "c.md", "text": ""}
        await api.owner.post(f"/api/workspaces/{other}/files", body)
        await sites.get(*await place(api, other))
        assert await sites.get(number, cursor) is not site
