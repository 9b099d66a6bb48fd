"""Notices: none is missed however often the stream breaks, and its end has a reason."""

from dataclasses import dataclass, field

import pytest
import trio
from octavo_client import (
    Client,
    ListeningEnded,
    NotSignedInError,
    ProblemError,
    Retrying,
    WorkspaceChanged,
    WorkspaceClient,
    WorkspaceGone,
)
from octavo_client import notices as module
from octavo_client.retrying import EntropySource
from octavo_rules.identity import WorkspaceId
from trio.testing import MockClock

from packages.client.tests.stub_server import Steady
from tests.e2e.server import PATIENCE
from tests.fakes.cursors import at
from tests.fakes.listened_notices import Script, Stream, notices, told


def changed(workspace_id: WorkspaceId, position: int) -> WorkspaceChanged:
    return WorkspaceChanged(workspace_id, *at(position))


A, B = (WorkspaceId(f"01900000-0000-7000-8000-00000000000{name}") for name in "ab")


async def drop(stream: Stream) -> None:
    """Close the connection without a close frame."""
    await stream.socket._stream.aclose()


def announcing(*positions: int, close: int | None = None) -> Script:
    """A stream about one workspace: its position, its next positions, and its end."""

    async def script(stream: Stream) -> None:
        workspace_id = await stream.subscribed(positions[0])
        for position in positions[1:]:
            await stream.say(type="changed", workspaceId=workspace_id, **told(position))
        if close is None:
            await trio.sleep_forever()
        await stream.socket.aclose(close, "because")

    return script


async def hear(
    client: Client, count: int, *workspace_ids: WorkspaceId
) -> list[WorkspaceChanged | WorkspaceGone]:
    async with client.notices(workspace_ids or [A]) as channel:
        return [await anext(channel) for _ in range(count)]


async def test_notice_follows_the_initial_position(
    workspace: WorkspaceClient,
) -> None:
    made = await workspace.create("a.md", "one")
    with trio.fail_after(PATIENCE):
        async with workspace.notices() as channel:
            assert await anext(channel) == WorkspaceChanged(
                workspace.id, made.position, made.revision.id
            )
            change = await workspace.update(made.file_id, made.revision.id, text="two")
            after = WorkspaceChanged(workspace.id, change.position, change.revision.id)
            assert await anext(channel) == after


async def test_invisible_workspace_is_reported_gone_and_the_stream_ends(client: Client) -> None:
    with trio.fail_after(PATIENCE):
        async with client.notices([A]) as channel:
            assert [each async for each in channel] == [WorkspaceGone(A, "not_found")]


async def test_invalid_key_ends_it(served: tuple[str, object], client: Client) -> None:
    other = Client(served[0], entropy=client._connection.entropy, key="octk_nothing")
    with trio.fail_after(PATIENCE), pytest.raises(NotSignedInError) as refused:
        async with other, other.notices([A]) as channel:
            await anext(channel)
    assert refused.value.code == "key_refused"


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1013, 1002])
async def test_temporarily_closed_stream_is_reopened_and_gets_the_position(
    code: int,
) -> None:
    async with (
        notices([announcing(3, close=code), announcing(8, 9)]) as server,
        server.client() as client,
    ):
        assert await hear(client, 3) == [changed(A, 3), changed(A, 8), changed(A, 9)]
        assert len(server.headers) == 2


async def test_stream_that_breaks_is_opened_again() -> None:
    async def breaks(stream: Stream) -> None:
        await stream.subscribed(3)
        await drop(stream)

    async with notices([drop, breaks, announcing(4)]) as server, server.client() as client:
        assert await hear(client, 2) == [changed(A, 3), changed(A, 4)]
        assert len(server.headers) == 3


@pytest.mark.parametrize("status", [404, 400, 429, 500, 503])
async def test_stream_that_is_refused_for_now_is_asked_for_again(status: int) -> None:
    async with notices([status, status, announcing(1)]) as server, server.client() as client:
        assert await hear(client, 1) == [changed(A, 1)]
        assert len(server.headers) == 3


@dataclass(frozen=True)
class Counted(Retrying):
    """Waits for nothing, and keeps the numbers of failures."""

    failures: list[int] = field(default_factory=list)

    def wait(
        self, failures: int, entropy: EntropySource, retry_after: float | None = None
    ) -> float:
        self.failures.append(failures)
        return 0.0


@pytest.mark.parametrize(("seconds", "counted"), [(9, [1, 2, 3]), (11, [1, 2, 1])])
async def test_stream_that_lasted_makes_up_for_the_failures_before(
    mock_clock: MockClock, seconds: float, counted: list[int]
) -> None:
    async def lasts(stream: Stream) -> None:
        await stream.subscribed(1)
        mock_clock.jump(seconds)
        await drop(stream)

    retrying = Counted(longest=10)
    async with notices([503, 503, lasts, announcing(2)]) as server:
        address = f"http://127.0.0.1:{server.port}"
        async with Client(address, entropy=Steady(1), key="octk_key", retrying=retrying) as client:
            assert await hear(client, 2) == [changed(A, 1), changed(A, 2)]
    assert retrying.failures == counted


@pytest.mark.parametrize("status", [401, 403])
async def test_permanently_refused_stream_ends_it(status: int) -> None:
    async with notices([announcing(1, close=1001), status]) as server, server.client() as client:
        with pytest.raises(ProblemError) as refused:
            await hear(client, 2)
    assert refused.value.status == status


async def test_session_end_ends_it_with_the_reason() -> None:
    async with notices([announcing(1, close=1008)]) as server, server.client() as client:
        with pytest.raises(ListeningEnded, match="because"):
            await hear(client, 2)
    assert len(server.headers) == 1


async def test_membership_end_leaves_the_other_workspaces() -> None:
    async def expels(stream: Stream) -> None:
        for position in (1, 2):
            await stream.subscribed(position)
        await stream.say(type="gone", workspaceId=A, reason="not_found")
        await stream.socket.aclose(1008, "A membership has ended.")

    async with notices([expels, announcing(5)]) as server, server.client() as client:
        heard = await hear(client, 4, A, B)
    assert heard == [changed(A, 1), changed(B, 2), WorkspaceGone(A, "not_found"), changed(B, 5)]


async def test_deleted_workspaces_end_it_in_order() -> None:
    async def deletes(stream: Stream) -> None:
        await stream.subscribed(1)
        await stream.say(type="gone", workspaceId=A, reason="deleted")
        await trio.sleep_forever()

    async with (
        notices([deletes]) as server,
        server.client() as client,
        client.notices([A]) as channel,
    ):
        heard = [each async for each in channel]
    assert heard == [changed(A, 1), WorkspaceGone(A, "deleted")]


async def test_message_that_is_not_understood_opens_the_stream_again() -> None:
    async def babbles(stream: Stream) -> None:
        await stream.subscribed(1)
        await stream.socket.send_message("babble")
        await trio.sleep_forever()

    async with notices([babbles, announcing(2)]) as server, server.client() as client:
        assert await hear(client, 2) == [changed(A, 1), changed(A, 2)]


async def test_unknown_message_of_a_newer_server_is_ignored() -> None:
    async def newer(stream: Stream) -> None:
        await stream.subscribed(1)
        await stream.say(type="weather", workspaceId=A, sky="blue")
        await stream.say(type="changed", workspaceId=A, by="somebody", **told(2))
        await trio.sleep_forever()

    async with notices([newer]) as server, server.client() as client:
        assert await hear(client, 2) == [changed(A, 1), changed(A, 2)]


async def test_quiet_stream_with_a_pong_stays_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "QUIET", 0.05)
    monkeypatch.setattr(module, "PONG_TIMEOUT", 5.0)

    async def respond(stream: Stream) -> None:
        await stream.subscribed(1)
        await stream.pinged(3)
        await stream.say(type="changed", workspaceId=A, **told(2))
        await trio.sleep_forever()

    async with notices([respond]) as server, server.client() as client:
        assert await hear(client, 2) == [changed(A, 1), changed(A, 2)]
        assert len(server.headers) == 1


async def test_quiet_stream_without_a_pong_is_reopened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "QUIET", 0.05)
    monkeypatch.setattr(module, "PONG_TIMEOUT", 0.05)

    async def deaf(stream: Stream) -> None:
        await stream.subscribed(1)
        stream.stop_reading()
        await trio.sleep_forever()

    async with notices([deaf, announcing(2)]) as server, server.client() as client:
        assert await hear(client, 2) == [changed(A, 1), changed(A, 2)]


async def test_stream_request_is_authenticated() -> None:
    async with notices([announcing(1)]) as server, server.client() as client:
        await hear(client, 1)
        [headers] = server.headers
        assert headers["authorization"] == "Bearer octk_key"


async def test_exception_while_listening_is_raised_unwrapped() -> None:
    async def fails(client: Client) -> None:
        async with client.notices([A]) as channel:
            await anext(channel)
            raise ZeroDivisionError

    async with notices([announcing(1)]) as server, server.client() as client:
        with pytest.raises(ZeroDivisionError):
            await fails(client)
