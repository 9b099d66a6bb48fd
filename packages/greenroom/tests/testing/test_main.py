"""The command line that replays a schedule without pytest."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from greenroom.testing.__main__ import main

SCENARIOS = """
import trio
from greenroom.testing.explore import explore

STEPS = ["read", "write", "read", "write"]

async def passes():
    await trio.sleep(3)

async def lost(steps=("write", "write")):
    total = 0
    async def step(name):
        nonlocal total
        read = total
        await trio.lowlevel.checkpoint()
        if name == "write":
            total = read + 1
    async with trio.open_nursery() as nursery:
        for name in steps:
            nursery.start_soon(step, name)
    assert total == steps.count("write"), "update lost"

async def takes(steps):
    await lost(steps)

def synchronous():
    pass
"""


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "scenarios_" + re.sub(r"\W", "_", tmp_path.name)
    (tmp_path / f"{name}.py").write_text(SCENARIOS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_schedule_that_passes_is_reported(
    scenarios: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", f"{scenarios}:passes", "--schedule", "random:1"]) == 0
    said, hint = capsys.readouterr().out.splitlines()
    assert said == f"{scenarios}:passes passes under random:1"
    assert "PYTHONHASHSEED" in hint


def test_schedule_that_fails_shows_the_error_and_the_command(
    scenarios: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = [f"random:{seed}" for seed in range(20)]
    failed = [t for t in tokens if main(["replay", f"{scenarios}:lost", "--schedule", t])]
    assert failed
    shown = capsys.readouterr().err
    assert "AssertionError: update lost" in shown
    assert f"replay {scenarios}:lost --schedule {failed[0]}" in shown


def test_steps_are_chosen_by_the_token(scenarios: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [f"{scenarios}:takes", "--steps", f"{scenarios}:STEPS", "--schedule"]
    failed = [n for n in range(20) if main(["replay", *arguments, f"random:{n}@1,3"])]
    assert failed
    assert "steps:    2" in capsys.readouterr().err


def test_command_of_a_failure_replays_it_in_a_shell(scenarios: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = f"import {scenarios} as s; s.explore(s.lost)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        check=False,
        text=True,
    )
    (line,) = {line for line in found.stderr.splitlines() if "replay:" in line}
    python, *arguments = shlex.split(line.partition(":")[2])
    assert python == "python"
    again = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, check=False, text=True
    )
    assert again.returncode == 1
    assert line in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}:passes", "--schedule", "fifo:1"], "is not a schedule"),
        (["{}", "--schedule", "random:1"], "not of the form package.module:name"),
        (["{}:absent", "--schedule", "random:1"], "has no 'absent'"),
        (["nowhere.at_all:f", "--schedule", "random:1"], "there is no module 'nowhere'"),
        (["{}:synchronous", "--schedule", "random:1"], "is not an async function"),
        (["{}:takes", "--schedule", "random:1"], "give --steps"),
        (["{}:passes", "--steps", "{}:STEPS", "--schedule", "random:1"], "one list of steps"),
        (["{}:takes", "--steps", "{}:passes", "--schedule", "random:1"], "not a sequence of steps"),
        (["{}:takes", "--steps", "{}:STEPS", "--schedule", "random:1@9"], "more steps than"),
    ],
)
def test_invalid_arguments_are_refused_with_the_reason(
    scenarios: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["replay", *(argument.format(scenarios) for argument in arguments)])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
