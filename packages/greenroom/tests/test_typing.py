"""The type checker accepts and rejects messages as documented."""

from __future__ import annotations

from pathlib import Path

from mypy import api

PROGRAM = """
from __future__ import annotations

from greenroom import Actor, ActorRef, Directory, Message, Reply


class Size(Message[int]): ...
class Empty(Message[None]): ...
class Other(Message[int]): ...


class Box(Actor["Size | Empty"]):
    async def handle(self, message: Size | Empty) -> Reply:
        match message:
            case Size():
                return message.reply("three")  # wrong: not an int
            case Empty():
                return message.reply(None)


class Stranger(Actor[Other]): ...


async def use(box: ActorRef[Size | Empty], boxes: Directory[str, Size | Empty]) -> None:
    reveal_type(await box.ask(Size()))
    reveal_type(await boxes.ask("a", Size()))
    wider: object = await box.ask(Size())
    await box.tell(Empty())
    await box.tell(Size())  # wrong: has a result
    await box.ask(Other())  # wrong: not for a Box
    await boxes.ask(1, Size())  # wrong: no such key
"""


def test_mypy_knows_replies_receivers_and_keys(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    report, errors, _ = api.run(["--strict", "--no-color-output", "--no-incremental", str(program)])
    assert errors == ""
    lines = PROGRAM.splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if "# wrong" in line}
    found = {int(line.split(":")[1]) for line in report.splitlines() if ": error:" in line}
    assert found == wrong, report
    assert report.count('Revealed type is "int"') + report.count("builtins.int") >= 2, report
