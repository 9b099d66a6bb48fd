"""Write the lines of the request log once a round of the scheduler.

Each write to standard error is a system call, and with one for each request they are a tenth of the
work of a server that answers many. The lines of a round are written before the scheduler waits for
the next events: a line is late by the rest of its round, and a process that is killed within it
loses the lines of this round. Other events are written immediately, before the requests of their
round.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from octavo.log import Log

MOST_BYTES = 4096
"""Bytes that are written at once, unless a line is longer: a pipe does not mix them with the lines
that other threads or processes write into it (PIPE_BUF of Linux).
"""
MOST_LINES = 256
"""Lines that are written before their round has ended."""


class LogRounds(trio.abc.Instrument):
    """Gathers the lines of a round of the scheduler.

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
        lines = self._lines
        if len(lines) == 1:
            # As `flush`, for a round with one request.
            self._lines = []
            self._write(lines[0])
        elif lines:
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
