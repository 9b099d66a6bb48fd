"""Run the demonstration: ``python -m demo [--seconds 10]``."""

import argparse
import random
import sys
from functools import partial

import httpx
import trio

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
    async with httpx.AsyncClient(base_url=url, trust_env=False) as visitor:
        workspace, keys = await prepare(visitor, invitation)
    sent: dict[int, float] = {}
    async with client(url, keys[0]) as first, client(url, keys[1]) as second:
        desk = Device("the desk", first, workspace, sent, random.Random(1))
        phone = Device("the phone", second, workspace, sent, random.Random(2))
        began = trio.current_time()
        await desk.push(notes)
        say(f"Pushed in {trio.current_time() - began:.2f} s.")
        began = trio.current_time()
        await desk.download()
        await phone.download()
        say(f"Downloaded by two devices in {trio.current_time() - began:.2f} s.")
        took = await edit_at_once([desk, phone], url, seconds)
        await desk.pull()
        await phone.pull()
        kept, position = await desk.snapshot()
    equal = desk.notes == kept and phone.notes == kept
    show([desk, phone], took)
    told = "yes" if equal else "NO"
    say(f"Position {position}; both devices are byte-equal to the server: {told}.")
    if not equal or desk.position != position:
        raise SystemExit("the devices are out of step")


async def prepare(visitor: httpx.AsyncClient, invitation: str) -> tuple[str, list[str]]:
    """Make an account, a key for each device, and a workspace."""
    visitor.headers["origin"] = ORIGIN
    account = {"invitation": invitation, "address": "ada@example.org", "displayName": "Ada"}
    made = await visitor.post("/api/registrations", json={**account, "password": PASSWORD})
    made.raise_for_status()
    # The cookie is for https alone; a browser takes it on localhost, too.
    visitor.headers["cookie"] = made.headers["set-cookie"].partition(";")[0]
    keys = []
    for name in ("desk", "phone"):
        answer = await visitor.post("/api/account/keys", json={"name": name})
        keys.append(answer.raise_for_status().json()["secret"])
    answer = await visitor.post("/api/workspaces", json={"name": "READMEs"})
    return answer.raise_for_status().json()["id"], keys


def client(url: str, key: str) -> httpx.AsyncClient:
    """Answer a client that calls with a key."""
    headers = {"authorization": f"Bearer {key}", "sync-protocol": "1"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=30, trust_env=False)


async def edit_at_once(devices: list[Device], url: str, seconds: float) -> float:
    """Let all devices edit, listen and pull; answer how long they did."""
    began = trio.current_time()
    async with trio.open_nursery() as syncing:
        for device in devices:
            syncing.start_soon(device.listen, url)
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
    counted = ("saves", "refused and retried", "notices")
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
