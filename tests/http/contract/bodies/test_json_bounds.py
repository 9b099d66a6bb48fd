"""Documents with too many values are refused before they are parsed; texts may be long."""

import json
import time

import pytest
import trio
from antechamber.asgi import Event
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import InvalidRequest

from octavo.features.files.api.changesets import ChangesetInput
from octavo.features.files.api.files import LONGEST_CHANGE
from octavo.http.contract.bodies import json_body
from octavo.http.contract.bodies.json_body import MOST_DIGITS, MOST_VALUES, check_count
from octavo.http.contract.slices import SLICE_SIZE
from octavo.model.files.changeset import MAX_OPERATIONS

Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a\\",:[{}]\n'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('"\\,:'), inner, max_size=4)
    ),
)


def marks_of(value: object) -> int:
    """The colons, commas and brackets of a document outside of its strings."""
    if isinstance(value, dict):
        return max(0, 2 * len(value) - 1) + sum(map(marks_of, value.values()))
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(marks_of, value))
    return 0


def digits_of(value: object) -> int:
    """The digits of the numbers of a document."""
    if isinstance(value, dict):
        return sum(map(digits_of, value.values()))
    if isinstance(value, list):
        return sum(map(digits_of, value))
    return sum(map(str.isdigit, str(value))) if type(value) is int else 0


@pytest.fixture(name="small")
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_body, "SLICE_SIZE", 3)
    monkeypatch.setattr(json_body, "MOST_VALUES", 5)
    monkeypatch.setattr(json_body, "MOST_DIGITS", 6)


@pytest.mark.usefixtures("small")
def test_values_are_counted_wherever_slices_end() -> None:
    @given(Json, st.booleans())
    def check(value: object, ascii_only: bool) -> None:
        body = json.dumps(value, ensure_ascii=ascii_only).encode()
        try:
            trio.run(check_count, body)
            refused = False
        except InvalidRequest:
            refused = True
        assert refused == (marks_of(value) > 5 or digits_of(value) > 6)

    check()


@pytest.mark.usefixtures("small")
@given(st.binary(max_size=40))
def test_bytes_that_are_not_json_are_left_to_the_parser_or_refused(body: bytes) -> None:
    try:
        trio.run(check_count, body)
    except InvalidRequest:
        assert len(body) > 5


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":[],' + b",".join(b'"m%d":1' % number for number in range(700_000)) + b"}",
        b'{"a":[' + b'{"op":"a","b":1},' * 330_000 + b"0]}",
        b"[" + b",".join([b'{"a":' * 190 + b"1" + b"}" * 190] * 7_000) + b"]",
    ],
    ids=["members", "operations", "nested"],
)
async def test_many_values_are_refused_with_a_reason(body: bytes) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await check_count(body)
    message = f"The body has more than {MOST_VALUES:,} values: send fewer of them in one request."
    assert refused.value.members["errors"] == [{"pointer": "", "message": message}]


async def test_long_text_with_many_commas_is_read_in_slices() -> None:
    text = 'One, two: [three], "four\\", five.\n' * 200_000
    ran = 0

    async def other() -> None:
        nonlocal ran
        while True:
            ran += 1
            await trio.lowlevel.checkpoint()

    body = json.dumps({"text": text, "path": "a.md"}).encode()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await check_count(body)
        nursery.cancel_scope.cancel()
    assert ran >= len(body) // SLICE_SIZE


async def test_largest_changeset_has_less_than_half_of_what_is_allowed() -> None:
    text = 'Tea: green, [black](a.md), "white".\n' * 100
    operation = {
        "op": "update",
        "fileId": "6f9619ff-8b86-4011-b42d-00c04fc964ff",
        "ifMatch": "6f9619ff-8b86-4011-b42d-00c04fc964ff",
        "path": "Kitchen/Tea, and more.md",
        "text": text,
        "rewriteLinks": True,
    }
    members = {"mutationId": "6f9619ff-8b86-4011-b42d-00c04fc964ff"}
    changeset = {**members, "operations": [operation] * MAX_OPERATIONS}
    await check_count(json.dumps(changeset).encode())
    assert marks_of(changeset) < MOST_VALUES / 2


class LongestStep(trio.abc.Instrument):
    """The most processor time, in seconds, that a task took between two checkpoints."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.seconds = max(self.seconds, time.thread_time() - self._began)


MEMBERS = "{" + ",".join(f'"{number:x}":1' for number in range(700_000)) + "}"
OPERATIONS = '{"operations":[' + ",".join(['{"op":"a","b":1234567}'] * 330_000) + "]}"
NUMBERS = '{"operations":[' + ",".join(["7" * 4_200] * 1_800) + "]}"
VALUES, DIGITS = f"more than {MOST_VALUES:,} values", f"more than {MOST_DIGITS:,} digits"


@pytest.mark.parametrize(
    ("document", "reason"),
    [(MEMBERS, VALUES), (OPERATIONS, VALUES), (NUMBERS, DIGITS)],
    ids=["members", "operations", "numbers"],
)
async def test_loop_is_not_held_by_a_changeset_of_many_values(document: str, reason: str) -> None:
    body = document.encode()
    # What else the machine does can only add to a step: beside others, 4 ms were 13 once.
    steps = [await longest_step(body, reason) for _ in range(3)]
    assert 0 < min(steps) < 0.02


async def longest_step(body: bytes, reason: str) -> float:
    """Return the seconds of the longest step in which ``body`` is refused for ``reason``."""
    kind = json_body.json_body(ChangesetInput, limit=LONGEST_CHANGE)
    parts = [body[at : at + 65_536] for at in range(0, len(body), 65_536)]

    async def receive() -> Event:
        await trio.lowlevel.checkpoint()
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    longest = LongestStep()
    trio.lowlevel.add_instrument(longest)
    with pytest.raises(InvalidRequest) as refused:
        await kind.read([(b"content-type", b"application/json")], receive)
    await trio.lowlevel.checkpoint()
    trio.lowlevel.remove_instrument(longest)
    assert reason in str(vars(refused.value))
    return longest.seconds
