"""The log of the process: one line per event, for Octavo and every library alike.

An event has a name and members. `LogFormat` ``json`` is for programs, ``console`` for people.
Members may contain client input; they are escaped, so that they can neither start a line nor
control a terminal. If the sink fails, the line is dropped and nothing else happens.
"""

import json
import logging
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import BinaryIO, Literal

import structlog
import trio
from pydantic_core import PydanticSerializationError, to_json
from structlog.typing import EventDict, ExcInfo, WrappedLogger

LogFormat = Literal["json", "console"]
Clock = Callable[[], float]

# Malformed input is reported to the client; warnings about every byte of it would flood the log.
_QUIET = ("python_multipart", "python_multipart.multipart")
_PLAIN = re.compile(r'[^ "=\\]+')
# Characters that are valid in JSON strings, but that terminals or line readers may interpret.
_ACTIVE = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]")


class Sink:
    """Writes whole lines immediately, and drops those whose writing fails.

    Attributes:
        dropped: the number of lines dropped since the start.
    """

    __slots__ = ("_stream", "_torn", "_write", "dropped")

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        # A buffer would keep a partial line and corrupt later ones.
        self._write = getattr(stream, "raw", stream).write
        self._torn = False
        self.dropped = 0

    def write(self, lines: bytes) -> None:
        """Write one line or several, each of which ends with a line break; raises nothing.

        Blocks while the reader of the stream is slow, as a write to standard error does.
        """
        begins = int(self._torn)
        data = b"\n" + lines if begins else lines
        written = 0
        try:
            while written < len(data):
                # None: a nonblocking stream is full.
                taken = self._write(data[written:] if written else data)
                if not taken:
                    break
                written += taken
        except (OSError, ValueError):
            # ValueError: the stream is closed.
            pass
        if written < len(data):
            self.dropped += lines.count(b"\n", max(written - begins, 0))
            # After whole lines, the next one begins where it should.
            self._torn = data[written - 1] != 0x0A if written else self._torn
        else:
            self._torn = False


class Timestamps:
    """Formats the time of ``clock`` (Unix time in seconds) as RFC 3339 in UTC with milliseconds."""

    __slots__ = ("_clock", "_second", "_spelled")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._spelled = ""

    def now(self) -> str:
        """Return the time, as ``2026-01-31T12:00:00.000Z``."""
        second, rest = divmod(int(self._clock() * 1000), 1000)
        if second != self._second:
            self._second = second
            self._spelled = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._spelled}.{rest:03d}Z"


def json_line(time: str, level: str, members: Mapping[str, object]) -> bytes:
    """Return an event as one line of JSON, starting with time, level and event.

    Values without a JSON form are represented by their ``repr``.
    """
    line = {"time": time, "level": level, "event": members.get("event"), **members}
    try:
        text = to_json(line, fallback=repr, inf_nan_mode="strings")
    except PydanticSerializationError:
        # A lone surrogate, for example in an undecodable file name.
        text = json.dumps(line, default=repr, separators=(",", ":")).encode()
    if not text.isascii() or b"\x7f" in text:
        text = _ACTIVE.sub(lambda match: b"\\u%04x" % ord(match[0].decode()), text)
    return text + b"\n"


def console_line(time: str, level: str, members: Mapping[str, object]) -> bytes:
    """Return an event as one line for people; a traceback follows on lines with ``  | ``."""
    rest = dict(members)
    event, failure = rest.pop("event", ""), rest.pop("exception", None)
    words = [time, f"{level:<8}", _visible(str(event))]
    words += [f"{_visible(name)}={_value(value)}" for name, value in rest.items()]
    lines = [" ".join(words)]
    if failure is not None:
        lines += [f"  | {_visible(line)}" for line in str(failure).split("\n")]
    return ("\n".join(lines) + "\n").encode()


def _value(value: object) -> str:
    text = _visible(value if isinstance(value, str) else repr(value))
    if text and _PLAIN.fullmatch(text):
        return text
    # Escape quotes and backslashes of the value.
    return json.dumps(text, ensure_ascii=False)


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


class Log:
    """Formats events as lines and writes them to the sink.

    ``clock`` returns Unix time in seconds.

    Attributes:
        sink: writes the lines.
        now: returns the time of an event that occurs now.
        format_line: returns the line of an event, of its time, level and members.
    """

    __slots__ = ("format_line", "now", "sink")

    def __init__(self, log_format: LogFormat, sink: Sink, clock: Clock) -> None:
        self.sink = sink
        self.now = Timestamps(clock).now
        self.format_line = json_line if log_format == "json" else console_line

    def write(self, level: str, members: dict[str, object]) -> None:
        """Write one event, whose name is the member ``event``, without structlog."""
        self.sink.write(self.format_line(self.now(), level, members))

    def render(self, _: WrappedLogger, level: str, members: EventDict) -> bytes:
        """Return the line of an event; this is the last processor of structlog."""
        if "exc_info" in members:
            error = _error(members.pop("exc_info"))
            if error is not None:
                members["exception"] = "".join(traceback.format_exception(error)).rstrip()
        return self.format_line(self.now(), level, members)


def _error(exc_info: ExcInfo | BaseException | bool | None) -> BaseException | None:
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        return exc_info[1]
    return sys.exc_info()[1] if exc_info else None


class _LineLogger:
    """The logger that structlog wraps: passes lines of any level to the sink."""

    __slots__ = ("critical", "error", "info", "warning")

    def __init__(self, sink: Sink) -> None:
        self.info = self.warning = self.error = self.critical = sink.write


class _LibraryHandler(logging.Handler):
    """Receives the records that libraries log through the standard library."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        try:
            event = record.getMessage()
        except (TypeError, ValueError):
            # The arguments don't match the message: a bug in the library, but still an event.
            event = str(record.msg)
        members = {"event": event, "logger": record.name, "exc_info": record.exc_info}
        self._log.sink.write(self._log.render(None, record.levelname.lower(), members))


def configure(log_format: LogFormat, stream: BinaryIO, clock: Clock) -> Log:
    """Configure logging of the process to ``stream``, and return the log.

    ``clock`` returns Unix time in seconds. Call this once, before anything logs: the
    configuration of structlog and of the root logger is global to the process. Levels below
    ``info`` are dropped; Python warnings are logged as events. A library that installs its own
    handlers needs separate configuration: hypercorn takes a logger as its ``errorlog``.
    """
    log = Log(log_format, Sink(stream), clock)
    structlog.configure(
        processors=[log.render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        context_class=dict,
        logger_factory=lambda *_: _LineLogger(log.sink),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.INFO, handlers=[_LibraryHandler(log)], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.captureWarnings(True)
    return log


MOST_BYTES = 4096
"""Bytes that are written at once, unless a line is longer: a pipe does not mix them with the lines
that other threads or processes write into it (PIPE_BUF of Linux).
"""
MOST_LINES = 256
"""Lines that are written before their round has ended."""


class LogRounds(trio.abc.Instrument):
    """Gathers the lines of the request log of a round of the scheduler.

    Each write to standard error is a system call, and with one for each request they are a tenth of
    the work of a server that answers many. The lines of a round are written before the scheduler
    waits for the next events: a line is late by the rest of its round, and a process that is killed
    within it loses the lines of this round. Other events are written immediately, before the
    requests of their round.

    It must be an instrument of trio's run, whose tasks alone may write to it; see `in_rounds`.
    """

    def __init__(self, log: Log) -> None:
        self._line, self._now = log.format_line, log.now
        self._write = log.sink.write
        self._lines: list[bytes] = []

    def write(self, level: str, members: dict[str, object]) -> None:
        """Write one event, whose name is the member ``event``, when the round has ended."""
        self._lines.append(self._line(self._now(), level, members))
        if len(self._lines) >= MOST_LINES:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        lines, self._lines = self._lines, []
        whole = b"".join(lines)
        if len(whole) <= MOST_BYTES:
            if whole:
                self._write(whole)
            return
        begin, end = 0, 0
        for line in lines:
            if end > begin and end + len(line) - begin > MOST_BYTES:
                self._write(whole[begin:end])
                begin = end
            end += len(line)
        self._write(whole[begin:])

    def before_io_wait(self, timeout: float) -> None:
        """Write what the round has gathered."""
        if self._lines:
            self.flush()


@contextmanager
def in_rounds(log: Log) -> Iterator[LogRounds]:
    """Gather lines within the block, which is in a task of trio; write the last ones at its end."""
    rounds = LogRounds(log)
    trio.lowlevel.add_instrument(rounds)
    try:
        yield rounds
    finally:
        trio.lowlevel.remove_instrument(rounds)
        rounds.flush()
