"""Run the demonstration: ``python -m demo [--seconds 10]``."""

import argparse
import random
import sys
from functools import partial

import trio
from octavo_client import Client, Mirror, NoteDocument
from octavo_rules.identity import WorkspaceId

from demo.corpus import vault
from demo.device import Device
from demo.server import server

ORIGIN = "http://localhost"
PASSWORD = "harvest of orange lanterns"


async def demonstrate(url: str, invitation: str, seconds: float) -> None:
    """Push the vault, let two devices edit it, and show that they end in step."""
    notes = vault()
    size = sum(len(text.encode()) for text in notes.values())
    packages = len({path.partition("/")[0] for path in notes})
    say(f"A vault of {len(notes):,} linked notes ({size / 1e6:.1f} MB of Markdown), made of the")
    say(f"READMEs of {packages} installed packages.")
    async with client(url) as visitor:
        workspace_id, keys = await prepare(visitor, invitation)
    async with client(url, keys[0]) as first, client(url, keys[1]) as second:
        sent: dict[int, float] = {}
        desk = Device("the desk", first.workspace(workspace_id), sent, random.Random(1))
        phone = Device("the phone", second.workspace(workspace_id), sent, random.Random(2))
        began = trio.current_time()
        await desk.push(notes)
        say(f"Pushed in {trio.current_time() - began:.2f} s.")
        began = trio.current_time()
        await desk.mirror.start()
        await phone.mirror.start()
        say(f"Downloaded by two devices in {trio.current_time() - began:.2f} s.")
        took = await edit_at_once([desk, phone], seconds)
        await desk.settle()
        await phone.settle()
        server_has = Mirror(desk.workspace)
        await server_has.start()
        notes_equal = desk.mirror.notes == phone.mirror.notes == server_has.notes
        documents_equal = await in_step([desk, phone], server_has)
    equal = notes_equal and documents_equal
    show([desk, phone], took)
    told = "yes" if equal else "NO"
    say(f"Position {server_has.position}; both devices are byte-equal to the server: {told}.")
    if not equal or not desk.mirror.position == phone.mirror.position == server_has.position:
        raise SystemExit("the devices are out of step")


async def prepare(visitor: Client, invitation: str) -> tuple[WorkspaceId, list[str]]:
    """Make an account, a workspace, and a key for each device."""
    await visitor.register(invitation, "ada@example.org", PASSWORD, "Ada")
    workspace = await visitor.create_workspace("READMEs")
    return workspace.id, [(await visitor.create_key(name)).secret for name in ("desk", "phone")]


def client(url: str, key: str | None = None) -> Client:
    """Answer a client that calls with a key, or in nobody's name."""
    return Client(url, entropy=random.SystemRandom(), key=key, origin=ORIGIN)


async def in_step(devices: list[Device], server_has: Mirror) -> bool:
    """Answer whether each open document is that of the server, and its text that of the note."""
    for device in devices:
        for file_id, document in device.documents.items():
            fresh = await NoteDocument.open(device.workspace, file_id)
            if document.state_vector != fresh.state_vector or document.unsaved:
                return False
            if not document.text == fresh.text == server_has.notes[file_id].text:
                return False
    return True


async def edit_at_once(devices: list[Device], seconds: float) -> float:
    """Let all devices edit and follow each other; answer how long they did."""
    began = trio.current_time()
    async with trio.open_nursery() as syncing:
        for device in devices:
            syncing.start_soon(device.follow)
        async with trio.open_nursery() as editing:
            for device in devices:
                editing.start_soon(device.edit)
            while (passed := trio.current_time() - began) < seconds:
                saves = sum(device.counts["saves"] for device in devices)
                progress(f"  {passed:4.1f} s  {saves:6,} saves")
                await trio.sleep(0.2)
            editing.cancel_scope.cancel()
        took = trio.current_time() - began
        syncing.cancel_scope.cancel()
    progress("")
    return took


def show(devices: list[Device], seconds: float) -> None:
    """Print what the devices did."""
    rows: list[tuple[str, list[str]]] = [("", [device.name for device in devices])]
    counted = ("saves", "documents merged", "refused and retried", "notices")
    rows += [(name, [f"{device.counts[name]:,}" for device in devices]) for name in counted]
    rows.append(("saves a second", [f"{d.counts['saves'] / seconds:.0f}" for d in devices]))
    for percent in (50, 99):
        told = [f"{percentile(d.latencies, percent) * 1000:.1f} ms" for d in devices]
        rows.append((f"save to notice, p{percent}", told))
    for name, values in rows:
        say(f"  {name:24}" + "".join(f"{value:>14}" for value in values))


def percentile(values: list[float], percent: int) -> float:
    """Answer the value that so many percent do not pass; NaN without any."""
    ordered = sorted(values)
    return (
        ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else float("nan")
    )


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)


def progress(line: str) -> None:
    """Show how far it is, on a terminal alone."""
    if sys.stdout.isatty():
        print(f"\r{line:40}", end="" if line else "\r", flush=True)


def main() -> None:
    """Start a server, and demonstrate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="how long the devices edit")
    seconds = parser.parse_args().seconds
    try:
        with server() as (url, invitation):
            trio.run(partial(demonstrate, url, invitation, seconds))
    except* KeyboardInterrupt:
        # As a shell tells it: 128 and the number of the signal.
        print("\nstopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
