"""The request log is written once a round of the scheduler, and never lost at an orderly end."""

import pytest
import trio

from octavo.log import MOST_BYTES, MOST_LINES, Log, LogRounds, Sink, in_rounds


class Writes:
    """A stream that keeps what each write wrote."""

    def __init__(self) -> None:
        self.written: list[list[str]] = []
        self.sizes: list[int] = []

    def write(self, data: bytes) -> int:
        assert data.endswith(b"\n")
        self.sizes.append(len(data))
        self.written.append([line.split()[-1] for line in data.decode().splitlines()])
        return len(data)


@pytest.fixture
def stream() -> Writes:
    return Writes()


@pytest.fixture
def log(stream: Writes) -> Log:
    return Log("console", Sink(stream), lambda: 0.0)  # type: ignore[arg-type]  # it needs no more


async def write(rounds: LogRounds, name: str) -> None:
    rounds.write("info", {"event": name})
    await trio.lowlevel.checkpoint()
    rounds.write("info", {"event": f"{name}-later"})


async def test_lines_of_a_round_are_written_together(log: Log, stream: Writes) -> None:
    with in_rounds(log) as rounds:
        async with trio.open_nursery() as nursery:
            for name in ("a", "b"):
                nursery.start_soon(write, rounds, name)
    assert [sorted(each) for each in stream.written] == [["a", "b"], ["a-later", "b-later"]]


async def test_last_lines_are_written_when_the_service_fails(log: Log, stream: Writes) -> None:
    def fail() -> None:
        with in_rounds(log) as rounds:
            rounds.write("info", {"event": "last"})
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        fail()
    assert stream.written == [["last"]]


async def test_long_round_does_not_keep_all_its_lines(log: Log, stream: Writes) -> None:
    with in_rounds(log) as rounds:
        for number in range(MOST_LINES + 1):
            rounds.write("info", {"event": str(number)})
        assert [int(each) for some in stream.written for each in some] == [*range(MOST_LINES)]


async def test_lines_are_written_in_pieces_that_a_pipe_takes_whole(
    log: Log, stream: Writes
) -> None:
    names = [f"{number}-{'x' * (number % 7 * 400)}" for number in range(40)]
    names += ["y" * (MOST_BYTES + 1), "z"]
    with in_rounds(log) as rounds:
        for name in names:
            rounds.write("info", {"event": name})
    assert [each for some in stream.written for each in some] == names
    assert [
        some for some, size in zip(stream.written, stream.sizes, strict=True) if size > MOST_BYTES
    ] == [["y" * (MOST_BYTES + 1)]]
    assert len(stream.sizes) < len(names) / 2


async def test_round_without_requests_writes_nothing(log: Log, stream: Writes) -> None:
    with in_rounds(log):
        for _ in range(3):
            await trio.lowlevel.checkpoint()
    assert stream.written == []
