"""Links as queries and the index have them, compared with those in the texts."""

from octavo_rules.identity import FileId, WorkspaceId

from octavo.features.links.sql import link_queries
from octavo.features.links.sql.link_index import links_in, packed, sources_of, targets_of
from octavo.features.links.sql.link_queries import FIRST, links_of_file
from octavo.model.links.extraction import links_of
from octavo.model.links.resolution import paths_by_key, resolve
from octavo.store import Script, Transaction
from octavo.store.queries.revision_rows import WORKSPACE
from tests.simulation.kept import Kept, kept

MANY = 1000


def faults_of_queries(workspace_id: WorkspaceId) -> Script[list[str]]:
    """Query all links of a workspace; return where they differ from the texts at that position."""

    async def compare(transaction: Transaction) -> list[str]:
        present = await kept(workspace_id)(transaction)
        return await faults_of_links(present)(transaction)

    return compare


def faults_of_links(workspace: Kept) -> Script[list[str]]:
    """Query all links of a workspace that is at rest; return where they differ from the texts."""
    workspace_id = workspace.workspace_id

    async def compare(transaction: Transaction) -> list[str]:
        resolved = _resolved(workspace)
        faults: list[str] = []

        def expect(what: str, found: object, expected: object) -> None:
            if found != expected:
                where = f"{workspace_id} at {workspace.position}"
                faults.append(f"{where}: the {what} are {found} in place of {expected}")

        for file_id, links in resolved.items():
            both = await links_of_file(workspace_id, file_id, MANY)(transaction)
            outgoing, incoming = both or ((), ())
            found = [(each.target, each.file_id) for each in outgoing]
            expect(f"links of {file_id}", found, links)
            expect(
                f"links to {file_id}",
                [(each.file_id, each.target) for each in incoming],
                [
                    (name, target)
                    for name, found in resolved.items()
                    for target, to in found
                    if to == file_id != name
                ],
            )
        unresolved = await link_queries.unresolved_links(workspace_id, FIRST, MANY)(transaction)
        expect(
            "unresolved links",
            [(each.file_id, each.target) for each in unresolved],
            [
                (name, target)
                for name, found in resolved.items()
                for target, to in found
                if to is None
            ],
        )
        return faults

    return compare


def _resolved(workspace: Kept) -> dict[FileId, list[tuple[str, FileId | None]]]:
    """Return the links of live notes, each with the file that it leads to."""
    paths = _live_paths(workspace)
    files = {path: file_id for file_id, path in paths.items()}
    find = paths_by_key(files).get
    resolved: dict[FileId, list[tuple[str, FileId | None]]] = {}
    for file_id, path in sorted(paths.items()):
        text = workspace.text_of(workspace.heads[file_id])
        links = dict.fromkeys(
            (each.kind, each.embed, each.target, each.heading) for each in links_of(text)
        )
        found = [(target, resolve(kind, target, path, find)) for kind, _, target, _ in links]
        resolved[file_id] = [(target, files[to] if to else None) for target, to in found]
    return resolved


def _live_paths(workspace: Kept) -> dict[FileId, str]:
    return {name: head.path for name, head in workspace.heads.items() if head.state == "live"}


def faults_of_index(workspace: Kept) -> Script[list[str]]:
    """Return where the rows of a complete link index differ from the texts."""
    workspace_id = workspace.workspace_id

    async def compare(transaction: Transaction) -> list[str]:
        rows = await transaction.fetch_all(
            "SELECT files.file_id, link_index.targets, link_index.sources FROM link_index"
            " JOIN files ON files.workspace = link_index.workspace"
            f" AND files.pk = link_index.file WHERE link_index.workspace = {WORKSPACE}",
            workspace_id,
        )
        found = {row[0]: (row[1], row[2]) for row in rows}
        expected = {}
        for file_id, path in _live_paths(workspace).items():
            links = links_in(workspace.text_of(workspace.heads[file_id]), path)
            keys = (targets_of(path), sources_of(links))
            expected[file_id] = tuple(packed(sorted(each)) for each in keys)
        if found != expected:
            return [f"{workspace_id}: the index has the links {found} in place of {expected}"]
        return []

    return compare
