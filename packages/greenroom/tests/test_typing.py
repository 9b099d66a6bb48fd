"""The type checker accepts and rejects messages as documented."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from greenroom import (
    Actor,
    ActorRef,
    ActorSpec,
    Directory,
    DirectorySpec,
    Envelope,
    Message,
    Reply,
    Supervisor,
    SupervisorSpec,
)


class Size(Message[int]): ...
class Empty(Message[None]): ...
class Other(Message[int]): ...
class Tick(Message[None]): ...


class Box(Actor["Size | Empty"]):
    async def started(self) -> None:
        self.context.schedule_once(1.0, Empty())
        self.context.schedule_once(1.0, Size())  # wrong: has a result

    async def handle(self, message: Size | Empty) -> Reply:
        match message:
            case Size():
                return message.reply("three")  # wrong: not an int
            case Empty():
                return message.reply(None)


class Batches(Actor[Size]):
    async def handle_batch(self, batch: Sequence[Envelope[Size]]) -> None:
        for envelope in batch:
            envelope.reply(envelope.message.reply(1))
            envelope.reply(envelope.message.reply("a"))  # wrong: not an int
            envelope.reply(1)  # wrong: not checked against the message


class Stranger(Actor[Other]):
    async def handle(self, message: Other) -> Reply:
        return message.reply(1)


class Keyed(Actor["Size | Empty"]):
    def __init__(self, key: str) -> None: ...


class Asker(Actor[Tick]):
    def __init__(self, box: ActorRef[Size | Empty]) -> None:
        self.box = box

    async def handle(self, message: Tick) -> None:
        await self.box.ask(Size())
        await self.box.ask(Tick())  # wrong: not for a Box


async def size(some: ActorRef[Size]) -> None:
    await some.ask(Size())


async def other(some: ActorRef[Size | Other]) -> None:
    await some.ask(Other())


async def use(box: ActorRef[Size | Empty], boxes: Directory[str, Size | Empty]) -> None:
    reveal_type(await box.ask(Size()))
    reveal_type(await boxes.ask("a", Size()))
    wider: object = await box.ask(Size())
    await box.tell(Empty())
    box.tell_nowait(Empty())
    await box.tell(Size())  # wrong: has a result
    box.tell_nowait(Size())  # wrong: has a result
    await box.ask(Other())  # wrong: not for a Box
    box.tell_nowait(Tick())  # wrong: not for a Box
    await boxes.ask(1, Size())  # wrong: no such key
    await boxes.ask("a", Other())  # wrong: not for a Box
    await boxes.tell("a", Tick())  # wrong: not for a Box
    boxes.answer("a", Other(), None)  # wrong: not for a Box
    reveal_type(boxes.answer("a", Size(), None))
    await size(box)
    await other(box)  # wrong: not for a Box


async def tree() -> None:
    root = Supervisor("root")
    box = root.add(ActorSpec("box", Box))
    reveal_type(box)
    boxes = root.add(DirectorySpec("boxes", Keyed))
    reveal_type(boxes)
    branch = root.add(SupervisorSpec("b"))
    stranger = await branch.start_child(ActorSpec("s", Stranger))
    asker = branch.add(ActorSpec("asker", partial(Asker, box)))
    await asker.tell(Tick())
    await stranger.ask(Other())
    await stranger.ask(Size())  # wrong: not for a Stranger
    branch.add(ActorSpec("bad", partial(Asker, stranger)))  # wrong: the asker asks a Box
    branch.add(ActorSpec("bad", Keyed))  # wrong: needs a key
    found = root.find("root/box", Box)
    await found.ask(Size())
    await found.ask(Other())  # wrong: not for a Box
"""


def test_mypy_knows_replies_receivers_and_keys(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # Within this process it would end the exemption of what is loaded from garbage collection.
    options = ["--strict", "--no-color-output", "--no-incremental"]
    command = [sys.executable, "-m", "mypy", *options, str(program)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    report = ended.stdout
    lines = PROGRAM.splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if "# wrong" in line}
    found = {int(line.split(":")[1]) for line in report.splitlines() if ": error:" in line}
    assert found == wrong, report
    revealed = re.findall(r'Revealed type is "(.*)"', report.replace("builtins.", ""))
    assert revealed == [
        "int",
        "int",
        "int | None",
        "greenroom.ref.ActorRef[program.Size | program.Empty]",
        "greenroom.directory.Directory[str, program.Size | program.Empty]",
    ]
