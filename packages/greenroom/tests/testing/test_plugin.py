"""The plugin, in separate pytest runs: with pytest-trio in trio mode, and without it."""

import re
import shlex
from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

PLUGIN = "greenroom.testing.plugin"
INSTALLED = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
LOAD = () if INSTALLED else ("-p", PLUGIN)
# Each run imports the plugins anew. Nothing here needs this one, which imports most.
LEFT_OUT = ("-p", "no:schemathesis")

WITH_TRIO: tuple[str, ...] = ("-o", "trio_mode=true")
WITHOUT_TRIO: tuple[str, ...] = ("-p", "no:trio")

both = pytest.mark.parametrize(
    "arguments", [WITH_TRIO, WITHOUT_TRIO], ids=["with pytest-trio", "without"]
)

LOST_UPDATE = """
import pytest, trio

runs = 0

@pytest.fixture
def members():
    return 2

async def update(members):
    global runs
    runs += 1
    total = 0
    async def increment():
        nonlocal total
        read = total
        await trio.lowlevel.checkpoint()
        total = read + 1
    async with trio.open_nursery() as nursery:
        for _ in range(members):
            nursery.start_soon(increment)
    assert total == members

@pytest.mark.explore(schedules=200)
async def test_lost_update(members):
    await update(members)

def test_lost_update_by_fixture(explore, members):
    async def scenario():
        await update(members)
    explore(scenario, schedules=200)

@pytest.mark.explore(schedules=30)
@pytest.mark.parametrize("members", [1], ids=["a single $member"])
async def test_single(members):
    await update(members)

def test_runs():
    assert runs == EXPECTED
"""


@pytest.fixture(autouse=True)
def strict(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfilterwarnings = error\n")


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*LOAD, *LEFT_OUT, *arguments)


def commands(result: pytest.RunResult) -> list[str]:
    return re.findall(r"replay: +(python -m pytest .*)", result.stdout.str())


@both
def test_marked_test_and_fixture_explore(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile(LOST_UPDATE)
    result = run(pytester, "-k", "not runs", *arguments)
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*ScheduleFailure: AssertionError: *", "*schedule: random:*"])


@both
def test_marked_test_is_run_only_by_the_explorer(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile(LOST_UPDATE.replace("EXPECTED", "30"))
    run(pytester, "-k", "single or runs", *arguments).assert_outcomes(passed=2)


@both
@pytest.mark.parametrize("test", ["test_lost_update", "test_lost_update_by_fixture"])
def test_printed_command_replays_exactly_the_same_failure(
    pytester: pytest.Pytester, arguments: tuple[str, ...], test: str
) -> None:
    path = pytester.makepyfile(LOST_UPDATE.replace("EXPECTED", "2"))
    (command,) = set(commands(run(pytester, f"{path.name}::{test}", *arguments)))
    words = shlex.split(command)
    program, given = words[:3], words[3:]
    assert program == ["python", "-m", "pytest"]

    replayed = run(pytester, *given, *arguments)
    replayed.assert_outcomes(failed=1)
    assert set(commands(replayed)) == {command}

    # A failing schedule is repeated once, to check that it is deterministic.
    run(pytester, *given, f"{path.name}::test_runs", *arguments).assert_outcomes(failed=1, passed=1)


def test_command_names_the_test_from_where_pytest_was_called(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(test_outer=LOST_UPDATE)
    monkeypatch.chdir(pytester.mkdir("elsewhere"))
    result = run(pytester, "../test_outer.py::test_lost_update", *WITH_TRIO)
    (command,) = set(commands(result))
    assert command.startswith(
        'python -m pytest "../test_outer.py::test_lost_update" --replay-schedule='
    )
    run(pytester, *shlex.split(command)[3:], *WITH_TRIO).assert_outcomes(failed=1)


def test_command_quotes_shell_characters(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LOST_UPDATE.replace('"members", [1]', '"members", [2]'))
    (command,) = set(commands(run(pytester, "-k", "single", *WITH_TRIO)))
    node = shlex.split(command)[3]
    assert node.endswith("::test_single[a single $member]")
    assert f"'{node}'" in command


@both
def test_steps_of_the_marker_are_shrunk_and_replayed(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile("""
        import pytest, trio

        @pytest.mark.explore(steps=list(range(30)), schedules=20)
        async def test_steps(steps, request):
            await trio.lowlevel.checkpoint()
            assert not {7, 23} <= set(steps)
    """)
    result = run(pytester, *arguments)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*steps:    2", "*  7", "*  23"])
    (command,) = set(commands(result))
    assert command.endswith("@7,23")
    assert '::test_steps" ' in command
    replayed = run(pytester, *shlex.split(command)[3:], *arguments)
    assert set(commands(replayed)) == {command}


@both
def test_marked_method_of_a_class_is_explored(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile("""
        import pytest, trio

        class TestIt:
            runs = []

            @pytest.mark.explore(schedules=7)
            async def test_method(self):
                await trio.lowlevel.checkpoint()
                self.runs.append(1)

            def test_runs(self):
                assert len(self.runs) == 7
    """)
    run(pytester, *arguments).assert_outcomes(passed=2)


def test_test_marked_for_pytest_trio_too_is_run_by_the_explorer(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest, trio
        pytestmark = pytest.mark.trio
        runs = []

        @pytest.mark.explore(schedules=7)
        async def test_explored():
            runs.append(1)
            await trio.sleep(60)

        async def test_runs():
            assert len(runs) == 7
    """)
    run(pytester).assert_outcomes(passed=2)


@both
def test_skip_inside_an_explored_test_skips(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.explore
        async def test_skips():
            pytest.skip("not here")
    """)
    run(pytester, *arguments).assert_outcomes(skipped=1)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("@pytest.mark.explore\ndef test_it(): pass", "*is for an async test*"),
        ("@pytest.mark.explore(5)\nasync def test_it(): pass", "*takes only keyword arguments*"),
        ("@pytest.mark.explore(runs=5)\nasync def test_it(): pass", "*has no setting runs*"),
        (
            "@pytest.mark.explore(steps=[1])\nasync def test_it(): pass",
            "*must take an argument named steps*",
        ),
    ],
)
@both
def test_misuse_of_the_marker_is_reported(
    pytester: pytest.Pytester, arguments: tuple[str, ...], body: str, message: str
) -> None:
    pytester.makepyfile(f"import pytest\n{body}")
    result = run(pytester, *arguments)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])


def test_asynchronous_fixture_of_an_explored_test_is_reported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.fixture
        async def connection():
            return 1

        @pytest.mark.explore
        async def test_it(connection): pass
    """)
    result = run(pytester, *WITH_TRIO)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the fixture 'connection' of an explored test is asynchronous*"])


def test_malformed_token_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--replay-schedule=random")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--replay-schedule: 'random' is not a schedule*"])


def test_marker_is_registered(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.explore(schedules=1000, seed=0, *"])


def test_token_with_steps_leaves_the_calls_without_steps_alone(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(
        """
        def test_two_scenarios(explore):
            async def passes():
                pass

            async def fails(steps):
                assert "b" not in steps

            explore(passes, schedules=5)
            explore(fails, steps=["a", "b", "c"], schedules=5)
        """
    )
    (command,) = set(commands(run(pytester, path.name, *WITH_TRIO)))
    assert command.endswith("@1")
    replayed = run(pytester, *shlex.split(command)[3:], *WITH_TRIO)
    replayed.assert_outcomes(failed=1)
    assert set(commands(replayed)) == {command}


REPORT = """
import pytest, trio

from greenroom import Actor, ActorSpec, Message, Supervisor


class Put(Message[None]):
    pass


class Store(Actor[Put]):
    async def handle(self, message):
        await trio.lowlevel.checkpoint()


async def put_twice(steps):
    root = Supervisor("root")
    store = root.add(ActorSpec("store", Store))
    async with root.running():
        for step in steps:
            if step != "pause":
                await store.ask(Put())
            await trio.lowlevel.checkpoint()

@pytest.mark.explore(steps=["pause", "put", "pause"], schedules=20, crash_anywhere=True)
async def test_marked(steps):
    await put_twice(steps)

def test_fixture(explore):
    explore(put_twice, steps=["pause", "put", "pause"], schedules=20, crash_anywhere=True)
"""


@both
@pytest.mark.parametrize("test", ["test_marked", "test_fixture"])
def test_report_begins_with_the_steps_and_names_the_crash(
    pytester: pytest.Pytester, arguments: tuple[str, ...], test: str
) -> None:
    path = pytester.makepyfile(REPORT)
    quiet = ("--show-capture=no", *arguments)
    result = run(pytester, f"{path.name}::{test}", *quiet)
    result.assert_outcomes(failed=1)
    lines = [line.removeprefix("E").strip() for line in result.stdout.str().splitlines()]
    first = next(n for n, line in enumerate(lines) if "ScheduleFailure: " in line)
    assert re.fullmatch(r".*ScheduleFailure: ActorCrashed: root/store crashed .*", lines[first])
    assert lines[first + 1 : first + 3] == ["steps:    1", "'put'"]
    assert re.fullmatch(r"crash:    actor\.(taken|handled) of root/store", lines[first + 3])
    assert re.fullmatch(r"schedule: (random|pct).*/crash:\d+@1", lines[first + 4])
    assert lines[first + 5].startswith("replay:   python -m pytest")
    (command,) = set(commands(result))
    replayed = run(pytester, *shlex.split(command)[3:], *quiet)
    assert set(commands(replayed)) == {command}


@both
@pytest.mark.parametrize("test", ["test_marked", "test_fixture"])
def test_report_shows_no_source_of_the_kit(
    pytester: pytest.Pytester, arguments: tuple[str, ...], test: str
) -> None:
    path = pytester.makepyfile(REPORT)
    quiet = ("--show-capture=no", *arguments)
    report = run(pytester, f"{path.name}::{test}", *quiet).stdout.str()
    assert "await store.ask(Put())" in report, "what the test did is shown"
    for hidden in (
        "packages/greenroom/src/greenroom/testing/plugin.py:",
        "packages/greenroom/src/greenroom/testing/explore.py:",
        "packages/greenroom/src/greenroom/testing/deterministic.py:",
        "packages/greenroom/src/greenroom/testing/faults.py:",
        "_MARKER",
        "controlled_scheduler",
        "trio/_core",
    ):
        assert hidden not in report, hidden
