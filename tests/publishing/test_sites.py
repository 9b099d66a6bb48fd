"""Maps of workspaces are exact, and few are kept."""

from octavo.model.identity import Position
from octavo.model.publishing.link import LinkTarget
from octavo.publishing.sites import Sites
from octavo.store import Transaction
from tests.fakes.notes_api import NotesApi, opened

WHOLE = LinkTarget("folder", None, "")


async def place(api: NotesApi) -> tuple[int, Position]:
    """The number of the workspace, and its position."""

    async def script(transaction: Transaction) -> tuple[int, Position]:
        row = await transaction.fetch_one("SELECT number, position FROM workspaces")
        assert row is not None
        return row[0], Position(row[1])

    return await api.store.read(script)


async def paths(api: NotesApi, sites: Sites) -> list[str]:
    site = await sites.get(*await place(api))
    return [each.path for each in site.notes_below("")]


async def test_map_follows_every_change() -> None:
    async with opened() as api:
        sites = Sites(api.store)
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
        assert await paths(api, Sites(api.store)) == ["b.md"]


async def test_map_that_is_exact_is_not_read_again() -> None:
    async with opened() as api:
        sites = Sites(api.store)
        await api.note("a.md")
        number, position = await place(api)
        site = await sites.get(number, position)
        assert await sites.get(number, position) is site
        assert (site.position, len(site)) == (position, 1)


async def test_large_workspace_is_mapped_in_steps() -> None:
    async with opened() as api:
        operations = [
            {"op": "create", "fileId": api.new_id(), "path": f"{number:04}.md", "text": ""}
            for number in range(450)
        ]
        assert (await api.push(*operations)).status == 200
        assert len(await paths(api, Sites(api.store))) == 450


async def test_maps_of_few_files_are_kept() -> None:
    async with opened() as api:
        sites = Sites(api.store, most_files=1)
        await api.note("a.md")
        await api.note("b.md")
        number, position = await place(api)
        site = await sites.get(number, position)
        # The map that is needed is kept in any case.
        assert await sites.get(number, position) is site
        other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
        body = {"path": "c.md", "text": ""}
        await api.owner.post(f"/api/workspaces/{other}/files", body)
        await sites.get(number + 1, Position(1))
        assert await sites.get(number, position) is not site
