"""``python -m greenroom.testing replay package.module:function --schedule TOKEN``."""

import argparse
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from greenroom.testing.deterministic import MAX_STEPS
from greenroom.testing.explore import explore
from greenroom.testing.schedule_failure import ReplayToken, ScheduleFailure


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay a schedule of a scenario.

    Args:
        arguments: the command line without the program; None uses that of the process.

    Returns:
        The exit status: 0 if the scenario passes, 1 if it fails.

    Raises:
        SystemExit: with 2 and a message if the arguments are invalid, with 0 after help.
    """
    parser = argparse.ArgumentParser(
        prog="python -m greenroom.testing",
        description="Deterministic runs of trio programs.",
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    replay = commands.add_parser("replay", help="run a scenario under one schedule")
    replay.add_argument("scenario", help="an async function, as package.module:function")
    replay.add_argument(
        "--schedule", required=True, metavar="TOKEN", help="the token that a failure reports"
    )
    replay.add_argument(
        "--steps",
        metavar="package.module:sequence",
        help="all steps of the scenario, if it takes a list of them",
    )
    replay.add_argument(
        "--max-steps",
        type=int,
        default=MAX_STEPS,
        metavar="COUNT",
        help="maximum number of task steps of the run (default %(default)s)",
    )
    options = parser.parse_args(arguments)
    try:
        token = ReplayToken.parse(options.schedule)
        scenario = _load(options.scenario)
        steps = None if options.steps is None else _load(options.steps)
        _require(scenario, steps, options)
        token.require(None if steps is None else len(steps))
    except (LookupError, ValueError) as error:
        replay.error(str(error.args[0]))
    return _replay(scenario, steps, options)


def _replay(scenario: Callable[..., Any], steps: Sequence[Any] | None, names: Any) -> int:  # noqa: ANN401 (argparse.Namespace has no types)
    again = f"python -m greenroom.testing replay {names.scenario}" + (
        f" --steps {names.steps}" if names.steps else ""
    )
    if names.max_steps != MAX_STEPS:
        again += f" --max-steps {names.max_steps}"
    try:
        explore(
            scenario,
            steps=steps,
            replay=names.schedule,
            max_steps=names.max_steps,
            command=lambda token: f"{again} --schedule {token}",
        )
    except ScheduleFailure:
        traceback.print_exc()
        return 1
    sys.stdout.write(f"{names.scenario} passes under {names.schedule}\n")
    sys.stdout.write(
        "If it failed before, either it was changed, or it depends on more than the schedule:"
        " unseeded random numbers, the wall clock, or the order of a set (try PYTHONHASHSEED=0 for"
        " both runs).\n"
    )
    return 0


def _load(reference: str) -> Any:  # noqa: ANN401 (any object that the user names)
    module, colon, name = reference.partition(":")
    if not colon or not module or not name:
        raise ValueError(f"{reference!r} is not of the form package.module:name")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        named: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # If the module exists but fails to import another one, its own traceback is more useful.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise LookupError(f"there is no module {error.name!r}") from None
    for part in name.split("."):
        try:
            named = getattr(named, part)
        except AttributeError:
            raise LookupError(f"{module!r} has no {name!r}") from None
    return named


def _require(scenario: object, steps: object, names: Any) -> None:  # noqa: ANN401
    if not inspect.iscoroutinefunction(scenario):
        raise ValueError(f"{names.scenario} is not an async function")
    if steps is not None and not isinstance(steps, Sequence):
        raise ValueError(f"{names.steps} is not a sequence of steps")
    try:
        inspect.signature(scenario).bind(*(() if steps is None else ([],)))
    except TypeError:
        wanted = "one list of steps" if steps is not None else "nothing, or give --steps"
        raise ValueError(f"{names.scenario} is called with {wanted}") from None


if __name__ == "__main__":
    sys.exit(main())
