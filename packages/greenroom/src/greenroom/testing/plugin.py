"""The pytest plugin: explored tests, and the option that replays a schedule.

An ``async def`` test marked ``explore`` is run under many schedules; other plugins such as
pytest-trio do not run it. Its fixtures are set up once for all its runs, so they must be
synchronous, and have no state that a run changes::

    @pytest.mark.explore(schedules=500)
    async def test_transfer_...(bank): ...

    @pytest.mark.explore(steps=[Put(1), Put(2), Take()], crash_anywhere=True)
    async def test_store_...(steps): ...

The fixture ``explore`` does the same for a scenario inside a synchronous test.
"""

import functools
import inspect
import os
import shlex
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, TypeVar, overload

import pytest

from greenroom.testing.deterministic import MAX_STEPS
from greenroom.testing.explore import Exploration, explore
from greenroom.testing.schedule_failure import ReplayToken
from greenroom.testing.schedules import MalformedSchedule

Step = TypeVar("Step")

_MARKER = "explore"
_OPTION = "--replay-schedule"
_SETTINGS = {"schedules", "seed", "steps", "max_steps", "early_time", "crash_anywhere"}

_TEST = pytest.StashKey[Callable[..., Awaitable[object]]]()


class Explore:
    """`explore` for a test: reports the pytest command that replays, and implements its option.

    Every call in a test replays the schedule of the option; if its token selects steps, only the
    calls that have steps do.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    @overload
    def __call__(
        self,
        fn: Callable[[], Awaitable[object]],
        *,
        schedules: int = ...,
        seed: int = ...,
        steps: None = ...,
        max_steps: int = ...,
        early_time: bool = ...,
        crash_anywhere: bool = ...,
    ) -> Exploration: ...

    @overload
    def __call__(
        self,
        fn: Callable[[list[Step]], Awaitable[object]],
        *,
        schedules: int = ...,
        seed: int = ...,
        steps: Sequence[Step],
        max_steps: int = ...,
        early_time: bool = ...,
        crash_anywhere: bool = ...,
    ) -> Exploration: ...

    def __call__(
        self,
        fn: Callable[..., Awaitable[object]],
        *,
        schedules: int = 1000,
        seed: int = 0,
        steps: Sequence[Any] | None = None,
        max_steps: int = MAX_STEPS,
        early_time: bool = True,
        crash_anywhere: bool = False,
    ) -> Exploration:
        """Explore ``fn``; arguments, result and errors are those of `explore`."""
        __tracebackhide__ = True
        replay: str | None = self._item.config.getoption(_OPTION)
        if replay is not None and steps is None and ReplayToken.parse(replay).kept is not None:
            replay = None  # the token belongs to another call in this test, one with steps
        return explore(
            fn,
            schedules=schedules,
            seed=seed,
            replay=replay,
            steps=steps,
            max_steps=max_steps,
            early_time=early_time,
            crash_anywhere=crash_anywhere,
            command=self._command,
        )

    def _command(self, token: str) -> str:
        # Node ids start at the root directory, the command where pytest was called.
        path = os.path.relpath(self._item.path, self._item.config.invocation_params.dir)
        node = path.replace(os.sep, "/") + "".join(self._item.nodeid.partition("::")[1:])
        quoted = shlex.quote(node) if set(node) & set('"$`\\!') else f'"{node}"'
        return f"python -m pytest {quoted} {_OPTION}={token}"


@pytest.fixture(name="explore")
def explore_fixture(request: pytest.FixtureRequest) -> Explore:
    """Search for a schedule under which an async scenario fails."""
    item: pytest.Item = request.node
    return Explore(item)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that replays."""
    parser.getgroup("greenroom", "deterministic concurrency tests").addoption(
        _OPTION,
        metavar="TOKEN",
        help="run explored tests only under this schedule, as printed by a failure",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and reject a malformed token."""
    config.addinivalue_line(
        "markers",
        "explore(schedules=1000, seed=0, steps=None, max_steps=100000, early_time=True, "
        "crash_anywhere=False): run an async test under many schedules; with steps, the test takes "
        "an argument of this name; with crash_anywhere, each schedule injects one crash",
    )
    token = config.getoption(_OPTION)
    if token is not None:
        try:
            ReplayToken.parse(token)
        except MalformedSchedule as error:
            raise pytest.UsageError(f"{_OPTION}: {error}") from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Pass the steps of the marker as the argument ``steps``."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is not None and "steps" in marker.kwargs and "steps" in metafunc.fixturenames:
        metafunc.parametrize("steps", [marker.kwargs["steps"]], ids=[pytest.HIDDEN_PARAM])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Store the test function before another plugin wraps it."""
    __tracebackhide__ = True
    if isinstance(item, pytest.Function):
        marker = item.get_closest_marker(_MARKER)
        if marker is not None:
            _require(item, marker)
            item.stash[_TEST] = item.obj
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Explore a marked test, and tell pytest that it has been called."""
    __tracebackhide__ = True
    test = pyfuncitem.stash.get(_TEST, None)
    marker = pyfuncitem.get_closest_marker(_MARKER)
    if test is None or marker is None:
        return None
    names = inspect.signature(test).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names if name in pyfuncitem.funcargs}
    for name, value in arguments.items():
        if _is_async(value):
            pytest.fail(
                f"the fixture {name!r} of an explored test is asynchronous; a test that runs many "
                "times must create what it awaits itself",
                pytrace=False,
            )

    @functools.wraps(test)
    async def scenario(*steps: list[object]) -> None:
        __tracebackhide__ = True
        chosen = {"steps": steps[0]} if steps else {}
        await test(**arguments | chosen)

    Explore(pyfuncitem)(scenario, **marker.kwargs)
    return True


def _require(item: pytest.Function, marker: pytest.Mark) -> None:
    problem = None
    if not inspect.iscoroutinefunction(item.obj):
        problem = "is for an async test; a synchronous one takes the fixture explore instead"
    elif marker.args:
        problem = "takes only keyword arguments"
    elif unknown := set(marker.kwargs) - _SETTINGS:
        problem = f"has no setting {', '.join(sorted(unknown))}; it has {sorted(_SETTINGS)}"
    elif marker.kwargs.get("steps") is not None and "steps" not in item.funcargs:
        problem = "has steps, so the test must take an argument named steps"
    if problem is not None:
        pytest.fail(f"{item.name}: the marker {_MARKER} {problem}", pytrace=False)


def _is_async(value: object) -> bool:
    # pytest passes an async fixture as its coroutine or generator, pytest-trio as a placeholder.
    if inspect.iscoroutine(value):
        value.close()
        return True
    return inspect.isasyncgen(value) or type(value).__name__ == "TrioFixture"
