"""A server that dies and returns: acknowledged changes happen once, and mirrors follow."""

import socket
from contextlib import ExitStack
from random import SystemRandom

import trio
from octavo_client import Client, Mirror, Retrying, WorkspaceClient
from octavo_rules.identity import Position

from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.people import settle
from tests.e2e.server import PATIENCE

WRITERS, NOTES = 4, 25


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


async def write(workspace: WorkspaceClient, writer: int, acknowledged: list[str]) -> None:
    for number in range(NOTES):
        made = await workspace.create(f"{writer}/{number}.md", "one\n")
        await workspace.update(made.file_id, made.revision.id, text=f"{writer} {number}\n")
        acknowledged.append(f"{writer}/{number}.md")


async def test_changes_happen_once_though_the_server_is_killed_among_them() -> None:
    retrying = Retrying(attempts=1_000, first=0.05, longest=0.5, rest=0.2)
    with data_folder() as folder, ExitStack() as servers, trio.fail_after(3 * PATIENCE):
        options = ("--bind", f"127.0.0.1:{free_port()}")

        def start() -> Octavo:
            return servers.enter_context(running(folder, *options))

        octavo = await trio.to_thread.run_sync(start)
        person = settle(octavo)
        client = Client(
            octavo.url, entropy=SystemRandom(), key=person.key, origin=PUBLIC, retrying=retrying
        )
        async with client:
            workspace = await client.create_workspace("Notes")
            mirror = Mirror(workspace)
            acknowledged: list[str] = []
            async with trio.open_nursery() as following:
                await following.start(mirror.run)
                async with trio.open_nursery() as writing:
                    for writer in range(WRITERS):
                        writing.start_soon(write, workspace, writer, acknowledged)
                    for share in (1, 2):
                        await mirror.wait_for(Position(share * WRITERS * NOTES * 2 // 3))
                        octavo.kill()
                        octavo = await trio.to_thread.run_sync(start)
                await mirror.wait_for(Position(2 * WRITERS * NOTES))
                following.cancel_scope.cancel()
            assert len(acknowledged) == WRITERS * NOTES
            assert mirror.position == 2 * WRITERS * NOTES
            texts = {each.path: each.text for each in mirror.notes.values()}
            assert texts == {
                f"{writer}/{number}.md": f"{writer} {number}\n"
                for writer in range(WRITERS)
                for number in range(NOTES)
            }
