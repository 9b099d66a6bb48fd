"""The log: one line per event, from any source, with any content, on any sink."""

import io
import json
import logging
import re
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from octavo.log import Log, Sink, Timestamps, configure, console_line, json_line

NOON = 1_767_268_800.0
TIME = "2026-01-01T12:00:00.000Z"
# What splitlines(), a terminal or a browser treats as a line break or a command.
ACTIVE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
TEXTS = st.text(st.characters() | st.sampled_from("\r\n\x1b\x85\x9b\u2028\x7f\ud800"))


@pytest.fixture
def process_log() -> Iterator[None]:
    """Restore the logging of the process afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)
    structlog.reset_defaults()


def clock() -> float:
    return NOON


def lines(stream: io.BytesIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("seconds", "spelled"),
    [
        (NOON, TIME),
        (NOON + 0.0019, "2026-01-01T12:00:00.001Z"),
        (NOON + 0.9999, "2026-01-01T12:00:00.999Z"),
        (0.0, "1970-01-01T00:00:00.000Z"),
    ],
)
def test_time_is_rfc_3339_in_utc_with_milliseconds(seconds: float, spelled: str) -> None:
    assert Timestamps(lambda: seconds).now() == spelled


@given(st.lists(st.integers(0, 4_000_000_000_000), min_size=1))
def test_time_is_correct_for_an_erratic_clock(milliseconds: list[int]) -> None:
    times = iter(milliseconds)
    timestamps = Timestamps(lambda: (next(times) + 0.5) / 1000)
    for expected in milliseconds:
        moment = datetime.fromtimestamp(expected // 1000, UTC)
        logged = f"{moment:%Y-%m-%dT%H:%M:%S}.{expected % 1000:03d}Z"
        assert timestamps.now() == logged


@given(event=TEXTS, members=st.dictionaries(TEXTS, TEXTS | st.integers() | st.none()))
def test_json_line_has_the_event_and_no_control_characters(
    event: str, members: dict[str, object]
) -> None:
    line = json_line(TIME, "info", {**members, "event": event})
    assert line.endswith(b"\n")
    assert not ACTIVE.search(line[:-1].decode())
    logged = json.loads(line)
    assert logged == {"time": TIME, "level": "info", **members, "event": event}


def test_json_line_begins_with_time_level_and_event() -> None:
    line = json_line(TIME, "info", {"path": "/", "event": "request"})
    assert list(json.loads(line)) == ["time", "level", "event", "path"]


def test_json_line_of_a_value_without_json_form_has_its_repr() -> None:
    logged = json.loads(json_line(TIME, "info", {"event": "e", "o": 1j, "n": float("nan")}))
    assert (logged["o"], logged["n"]) == ("1j", "NaN")


@given(event=TEXTS, name=TEXTS, value=TEXTS, failure=TEXTS)
def test_console_line_cannot_be_forged(event: str, name: str, value: str, failure: str) -> None:
    members = {"event": event, f"a{name}": value, "exception": failure}
    first, *rest = console_line(TIME, "error", members).decode().removesuffix("\n").split("\n")
    assert first.startswith(f"{TIME} error ")
    assert all(line.startswith("  | ") for line in rest)
    assert not any(ACTIVE.search(line) for line in [first, *rest])


def test_console_line_shows_members_in_order_and_quotes_spaces() -> None:
    line = console_line(TIME, "info", {"event": "request", "path": "/a b", "status": 200})
    assert line.decode() == f'{TIME} info     request path="/a b" status=200\n'


@pytest.mark.usefixtures("process_log")
def test_event_of_structlog_is_one_line() -> None:
    stream = io.BytesIO()
    configure("json", stream, clock)
    structlog.get_logger().bind(requestId="r").warning("slow", seconds=2)
    assert lines(stream) == [
        {"time": TIME, "level": "warning", "event": "slow", "requestId": "r", "seconds": 2}
    ]


@pytest.mark.usefixtures("process_log")
def test_event_of_a_library_is_one_line_of_the_same_form() -> None:
    stream = io.BytesIO()
    configure("json", stream, clock)
    logging.getLogger("hypercorn.error").info("Running on %s", "here\nforged")
    assert lines(stream) == [
        {
            "time": TIME,
            "level": "info",
            "event": "Running on here\nforged",
            "logger": "hypercorn.error",
        }
    ]


@pytest.mark.usefixtures("process_log")
@pytest.mark.parametrize("source", ["structlog", "library"])
def test_event_with_a_failure_has_its_traceback_in_the_line(source: str) -> None:
    stream = io.BytesIO()
    configure("json", stream, clock)
    try:
        raise ValueError("because")
    except ValueError as error:
        if source == "structlog":
            structlog.get_logger().error("failed", exc_info=error)
        else:
            logging.getLogger("trio").error("failed", exc_info=True)
    [line] = lines(stream)
    failure = str(line["exception"])
    assert failure.startswith("Traceback")
    assert failure.endswith("ValueError: because")
    assert "exc_info" not in line


@pytest.mark.usefixtures("process_log")
def test_event_with_a_failure_outside_of_one_is_a_plain_line() -> None:
    stream = io.BytesIO()
    configure("json", stream, clock)
    logging.getLogger("trio").error("failed", exc_info=True)
    structlog.get_logger().error("failed", exc_info=True)
    assert ["exception" in line for line in lines(stream)] == [False, False]


@pytest.mark.usefixtures("process_log")
def test_event_with_mismatching_arguments_is_still_logged() -> None:
    stream = io.BytesIO()
    configure("json", stream, clock)
    logging.getLogger("library").warning("%d requests", "many")
    assert [line["event"] for line in lines(stream)] == ["%d requests"]


@pytest.mark.usefixtures("process_log")
def test_debug_and_events_caused_only_by_clients_are_omitted() -> None:
    stream = io.BytesIO()
    configure("json", stream, clock)
    structlog.get_logger().debug("detail")
    logging.getLogger("trio").debug("detail")
    logging.getLogger("python_multipart.multipart").warning("Expected boundary character")
    assert stream.getvalue() == b""


@pytest.mark.usefixtures("process_log")
def test_python_warning_is_an_event() -> None:
    stream = io.BytesIO()
    configure("json", stream, clock)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # catch_warnings restored the function that prints.
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    [line] = lines(stream)
    assert (line["logger"], line["level"]) == ("py.warnings", "warning")
    assert "DeprecationWarning: old" in str(line["event"])


class Failing(io.RawIOBase):
    """A stream that accepts a given number of bytes per write; then it fails."""

    def __init__(self, *takes: int | OSError | None) -> None:
        self.takes = list(takes)
        self.data = b""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int | None:
        assert isinstance(data, bytes)
        take = self.takes.pop(0) if self.takes else len(data)
        if isinstance(take, OSError):
            raise take
        if take is not None:
            self.data += data[:take]
        return take


@pytest.mark.parametrize("take", [OSError(28, "No space left on device"), None, 0])
def test_sink_that_accepts_nothing_loses_the_line_and_counts_it(take: int | OSError | None) -> None:
    stream = Failing(take)
    sink = Sink(stream)  # type: ignore[arg-type]  # all of BinaryIO that a sink needs
    sink.write(b"lost\n")
    sink.write(b"kept\n")
    assert (sink.dropped, stream.data) == (1, b"kept\n")


def test_sink_that_accepts_parts_gets_the_whole_line() -> None:
    stream = Failing(1, 2)
    sink = Sink(stream)  # type: ignore[arg-type]  # all of BinaryIO that a sink needs
    sink.write(b"kept\n")
    assert (sink.dropped, stream.data) == (0, b"kept\n")


def test_sink_that_fails_within_a_line_keeps_the_next_one_whole() -> None:
    stream = Failing(2, OSError(28, "full"), OSError(28, "full"))
    sink = Sink(stream)  # type: ignore[arg-type]  # all of BinaryIO that a sink needs
    for line in (b"torn\n", b"lost\n", b"kept\n", b"more\n"):
        sink.write(line)
    assert (sink.dropped, stream.data) == (2, b"to\nkept\nmore\n")


def test_sink_that_fails_within_several_lines_counts_those_that_are_not_whole() -> None:
    stream = Failing(7, OSError(28, "full"), 5, OSError(28, "full"))
    sink = Sink(stream)  # type: ignore[arg-type]  # all of BinaryIO that a sink needs
    sink.write(b"kept\ntorn\nlost\n")
    assert (sink.dropped, stream.data) == (2, b"kept\nto")
    sink.write(b"new\nlost\n")
    assert (sink.dropped, stream.data) == (3, b"kept\nto\nnew\n")
    # It failed between two lines.
    sink.write(b"more\n")
    assert (sink.dropped, stream.data) == (3, b"kept\nto\nnew\nmore\n")


def test_closed_sink_loses_the_line_and_counts_it() -> None:
    stream = io.BytesIO()
    log = Log("json", Sink(stream), clock)
    stream.close()
    log.write("info", {"event": "request"})
    assert log.sink.dropped == 1


def test_sink_bypasses_the_buffer_of_its_stream() -> None:
    raw = Failing()
    Sink(io.BufferedWriter(raw)).write(b"line\n")
    assert raw.data == b"line\n"
