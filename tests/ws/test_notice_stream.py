"""The notice stream over real sockets: who may open it, its notices, its end."""

import json
import math
import socket
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import cast

import pytest
import trio
from antechamber.websocket import Frame, ServerWebSocket
from antechamber.websocket.serving import SharedTimer
from octavo_rules.identity import READ, START, AccountId, WorkspaceId
from trio.testing import wait_all_tasks_blocked

from octavo.actors.notice_hub import NoticeHub
from octavo.model.access.account import AccessLimits, parse_scopes
from octavo.store import Transaction
from octavo.store.queries.workspaces import WorkspaceAccess
from octavo.ws.notice_stream import (
    MAX_MESSAGE,
    MAX_SUBSCRIPTIONS,
    SUBPROTOCOL,
    NoticeStream,
    ReadAccess,
    changed_frame,
)
from packages.antechamber.tests.conftest import Authority
from packages.antechamber.tests.websocket_peer import BINARY, TEXT, Peer, close, frame
from tests.fakes.cursors import at
from tests.fakes.notice_server import (
    FROM_HERE,
    NOBODYS,
    Device,
    Installation,
    caller_state,
    cookie,
    head,
)
from tests.fakes.users_api import bearer

FROM_ELSEWHERE = (b"origin", b"https://notes.example.evil")


@pytest.fixture
async def installation() -> AsyncIterator[Installation]:
    async with caller_state() as made:
        yield made


def gone(workspace_id: str, reason: str) -> dict[str, str]:
    return {"type": "gone", "workspaceId": workspace_id, "reason": reason}


def changed(workspace_id: str, position: int) -> dict[str, object]:
    return {"type": "changed", "workspaceId": workspace_id, "position": position}


def _workspace(number: int) -> WorkspaceId:
    return WorkspaceId(f"01900000-0000-7000-8000-{number:012x}")


# Who may open it


@pytest.mark.parametrize(
    ("headers", "subprotocol", "status", "code"),
    [
        ((), SUBPROTOCOL, 401, "not_signed_in"),
        ((bearer("octk_nobodys"),), SUBPROTOCOL, 401, "key_refused"),
        (("cookie",), SUBPROTOCOL, 403, "wrong_origin"),
        (("cookie", FROM_ELSEWHERE), SUBPROTOCOL, 403, "wrong_origin"),
        (("cookie", FROM_HERE), None, 400, "invalid_request"),
        (("cookie", FROM_HERE), "octavo.notices.v2", 400, "invalid_request"),
        (("cookie", FROM_HERE), "", 400, "invalid_request"),
        # A no-break space is part of the name, and no white space around it.
        (("cookie", FROM_HERE), f"\xa0{SUBPROTOCOL}", 400, "invalid_request"),
        (("cookie", FROM_HERE, (b"x-request-id", b"a b")), SUBPROTOCOL, 400, "invalid_request"),
    ],
)
async def test_stream_is_not_opened(
    installation: Installation,
    headers: tuple[str | tuple[bytes, bytes], ...],
    subprotocol: str | None,
    status: int,
    code: str,
) -> None:
    made, _ = await installation.account()
    sent = [cookie(made) if isinstance(each, str) else each for each in headers]
    response = await installation.refused(head(*sent, subprotocol=subprotocol))
    document = json.loads(response.body)
    assert (response.status, document["code"]) == (status, code)
    assert response["content-type"] == "application/problem+json"
    assert document["requestId"] == response["x-request-id"]
    [record] = installation.records
    assert (record.status, record.failure) == (status, code)
    assert (record.operation, record.principal) == ("openSyncNotices", None)


@pytest.mark.parametrize("query", ["x=1", "token", "%zz=1"])
async def test_stream_takes_no_parameters(installation: Installation, query: str) -> None:
    made, _ = await installation.account()
    asked = head(cookie(made), FROM_HERE, subprotocol=SUBPROTOCOL, query=query)
    response = await installation.refused(asked)
    document = json.loads(response.body)
    assert (response.status, document["code"]) == (400, "invalid_request")
    assert document["errors"][0]["pointer"].startswith("/query")


async def test_stream_is_not_opened_while_the_store_is_unavailable(
    installation: Installation,
) -> None:
    _, headers = await installation.account()
    installation.identity.store.away = True
    response = await installation.refused(head(*headers))
    assert (response.status, json.loads(response.body)["code"]) == (503, "storage_unavailable")


async def test_request_without_an_upgrade_is_told_what_to_send(installation: Installation) -> None:
    _, headers = await installation.account()
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    response = await installation.refused(
        b"GET /api/sync/notices HTTP/1.1\r\nhost: a\r\n" + lines + b"\r\n"
    )
    assert (response.status, json.loads(response.body)["code"]) == (400, "invalid_request")


async def test_stream_is_one_of_several_requested_subprotocols(
    installation: Installation,
) -> None:
    _, headers = await installation.account()
    async with installation.server.client() as client:
        await client.send(head(*headers, subprotocol=f"other,\t{SUBPROTOCOL} "))
        assert (await Peer(client.stream).head()).startswith(b"HTTP/1.1 101 ")


async def test_key_opens_the_stream_from_any_origin(installation: Installation) -> None:
    made, _ = await installation.account()
    _, secret = await installation.identity.own_keys.create(
        made.account.account_id, "a key", None, remote_address=None
    )
    async with installation.device(bearer(secret), FROM_ELSEWHERE):
        pass


async def test_limited_key_is_notified_of_its_workspaces_only(installation: Installation) -> None:
    made, headers = await installation.account()
    account_id = made.account.account_id
    ids = [WorkspaceId(await installation.workspace(headers)) for _ in range(2)]
    limits = AccessLimits(parse_scopes([READ]), frozenset(ids[:1]), "tea")
    _, secret = await installation.identity.own_keys.create(
        account_id, "a key", None, limits, remote_address=None
    )
    async with installation.device(bearer(secret)) as device:
        assert await device.subscribe(ids[0]) == 0
        await device.say(type="subscribe", workspaceId=ids[1])
        assert await device.next_message() == gone(ids[1], "not_found")
        await installation.write(ids[1], "a.md", headers)
        position = await installation.write(ids[0], "a.md", headers)
        assert await device.next_message() == changed(ids[0], position)


async def test_stream_is_logged_when_it_has_ended(installation: Installation) -> None:
    made, headers = await installation.account()
    async with installation.device(*headers) as device:
        assert installation.records == []
        await device.peer.send(close(1000))
        assert await device.peer.close_code() == 1000
    with trio.fail_after(5):
        while not installation.records:
            await trio.lowlevel.checkpoint()
    [record] = installation.records
    assert (record.status, record.failure, record.path) == (101, None, "/api/sync/notices")
    assert (record.operation, record.principal) == ("openSyncNotices", made.account.account_id)


# Notices


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_device_is_notified_of_changes_since_its_subscription(
    authority: Authority, secure: bool
) -> None:
    async with caller_state(authority if secure else None) as installation:
        _, headers = await installation.account()
        workspace_id = await installation.workspace(headers)
        assert await installation.write(workspace_id, "before.md", headers) == 1
        async with installation.device(*headers) as device:
            assert await device.subscribe(workspace_id) == 1
            for number in (2, 3):
                await installation.write(workspace_id, f"{number}.md", headers)
                assert await device.next_message() == changed(workspace_id, number)


async def test_change_is_announced_after_its_commit_and_not_before(
    installation: Installation,
) -> None:
    _, headers = await installation.account()
    workspace_id = await installation.workspace(headers)
    async with installation.device(*headers) as device:
        await device.subscribe(workspace_id)
        installation.identity.store.away = True
        with pytest.raises(KeyError):
            await installation.write(workspace_id, "lost.md", headers)
        installation.identity.store.away = False
        position = await installation.write(workspace_id, "a.md", headers)
        assert await device.next_message() == changed(workspace_id, position)


async def test_change_without_effect_is_not_announced(installation: Installation) -> None:
    _, headers = await installation.account()
    workspace_id = await installation.workspace(headers)
    async with installation.device(*headers) as device:
        await device.subscribe(workspace_id)
        await installation.write(workspace_id, "a.md", headers)
        assert await device.next_message() == changed(workspace_id, 1)
        # The path is taken, and the response has no position.
        with pytest.raises(KeyError):
            await installation.write(workspace_id, "a.md", headers)
        await installation.write(workspace_id, "b.md", headers)
        assert await device.next_message() == changed(workspace_id, 2)


async def test_unsubscribed_device_is_notified_of_other_workspaces_only(
    installation: Installation,
) -> None:
    _, headers = await installation.account()
    one, two = await installation.workspace(headers), await installation.workspace(headers)
    async with installation.device(*headers) as device:
        await device.subscribe(one)
        await device.subscribe(two)
        await device.say(type="unsubscribe", workspaceId=one)
        await device.say(type="unsubscribe", workspaceId=NOBODYS)
        assert await device.subscribe(two) == 0
        await installation.write(one, "a.md", headers)
        await installation.write(two, "a.md", headers)
        assert await device.next_message() == changed(two, 1)
        assert await device.subscribe(one) == 1


async def test_invisible_workspace_is_gone(installation: Installation) -> None:
    _, headers = await installation.account()
    _, others = await installation.account("bob@example.org")
    foreign = await installation.workspace(others)
    mine = await installation.workspace(headers)
    async with installation.device(*headers) as device:
        for workspace_id in (foreign, NOBODYS):
            await device.say(type="subscribe", workspaceId=workspace_id)
            assert await device.next_message() == gone(workspace_id, "not_found")
        await device.subscribe(mine)
        await installation.write(foreign, "a.md", others)
        await installation.write(mine, "a.md", headers)
        assert await device.next_message() == changed(mine, 1)


async def test_deleted_workspace_is_gone(installation: Installation) -> None:
    _, headers = await installation.account()
    one, two = await installation.workspace(headers), await installation.workspace(headers)
    async with installation.device(*headers) as device:
        await device.subscribe(one)
        await device.subscribe(two)
        await installation.delete(one, headers)
        assert await device.next_message() == gone(one, "deleted")
        await device.say(type="subscribe", workspaceId=one)
        assert await device.next_message() == gone(one, "not_found")
        await installation.write(two, "a.md", headers)
        assert await device.next_message() == changed(two, 1)


async def test_removed_member_is_notified_and_the_stream_closed() -> None:
    async with caller_state(check_every=0.02) as installation:
        _, headers = await installation.account()
        workspace_id, kept = (
            await installation.workspace(headers),
            await installation.workspace(headers),
        )
        async with installation.device(*headers) as device:
            await device.subscribe(workspace_id)
            await device.subscribe(kept)
            await installation.identity.execute(
                "DELETE FROM members WHERE workspace_id = $1::uuid", workspace_id
            )
            assert await device.next_message() == gone(workspace_id, "not_found")
            assert await device.closed() == 1008


async def test_no_position_is_missed_by_devices_that_subscribe_while_others_write(
    installation: Installation,
) -> None:
    _, headers = await installation.account()
    workspace_id = await installation.workspace(headers)
    last = 60

    async def write() -> None:
        for number in range(1, last + 1):
            assert await installation.write(workspace_id, f"{number}.md", headers) == number

    async def follow(device: Device) -> None:
        positions: list[int] = []
        # Between two subscriptions of one device, notices must also be in order.
        while not positions or positions[-1] < last:
            await device.say(type="subscribe", workspaceId=workspace_id)
            while True:
                next_message = await device.next_message()
                positions.append(next_message["position"])
                if next_message["type"] == "subscribed":
                    break
            next_message = {} if positions[-1] == last else await device.next_message()
            positions.append(next_message.get("position", last))
        assert all(one <= two for one, two in pairwise(positions)), positions

    async with installation.devices(8, headers) as devices, trio.open_nursery() as nursery:
        for device in devices:
            nursery.start_soon(follow, device)
        nursery.start_soon(write)


async def test_a_thousand_devices_are_notified_of_a_change(installation: Installation) -> None:
    _, headers = await installation.account()
    workspace_id = await installation.workspace(headers)
    async with installation.devices(1000, headers) as devices:
        for device in devices:
            assert await device.subscribe(workspace_id) == 0
        await installation.write(workspace_id, "a.md", headers)
        for device in devices:
            assert await device.next_message() == changed(workspace_id, 1)


# Slow readers


async def test_slow_device_receives_the_newest_position_and_not_all() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    async with caller_state(listener=listener) as installation:
        _, headers = await installation.account()
        workspace_id = WorkspaceId(await installation.workspace(headers))
        last = 20_000
        async with installation.device(*headers) as device:
            await device.subscribe(workspace_id)
            for position in range(1, last + 1):
                installation.hub.announce(workspace_id, at(position))
                await trio.lowlevel.checkpoint()
                await trio.lowlevel.checkpoint()
            next_message = [await device.next_message()]
            while next_message[-1]["position"] < last:
                next_message.append(await device.next_message())
        positions = [each["position"] for each in next_message]
        assert all(one <= two for one, two in pairwise(positions))
        assert positions[:3] == [1, 2, 3]
        assert len(positions) < last / 2


# How it ends


async def test_ended_session_closes_the_stream_immediately(installation: Installation) -> None:
    made, headers = await installation.account()
    async with installation.device(*headers) as device:
        await device.subscribe(await installation.workspace(headers))
        await installation.end_sessions(made)
        assert await device.closed() == 1008


async def test_revoked_key_closes_the_stream_immediately(installation: Installation) -> None:
    made, _ = await installation.account()
    account_id = made.account.account_id
    key, secret = await installation.identity.own_keys.create(
        account_id, "a key", None, remote_address=None
    )
    async with installation.device(bearer(secret)) as device:
        await installation.identity.own_keys.revoke(account_id, key.key_id, remote_address=None)
        assert await device.closed() == 1008


async def test_session_ended_elsewhere_closes_the_stream_at_the_next_check() -> None:
    async with caller_state(check_every=0.02) as installation:
        _, headers = await installation.account()
        async with installation.device(*headers) as device:
            installation.identity.sources.time += 91 * 86400
            assert await device.closed() == 1008


async def test_other_session_continues_when_one_ends(installation: Installation) -> None:
    made, headers = await installation.account()
    _, others = await installation.account("bob@example.org")
    workspace_id = await installation.workspace(others)
    async with installation.device(*others) as device, installation.device(*headers) as ended:
        await device.subscribe(workspace_id)
        await installation.end_sessions(made)
        assert await ended.closed() == 1008
        await installation.write(workspace_id, "a.md", others)
        assert await device.next_message() == changed(workspace_id, 1)


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_stopping_server_closes_the_stream(authority: Authority, secure: bool) -> None:
    async with caller_state(authority if secure else None) as installation:
        _, headers = await installation.account()
        async with installation.device(*headers) as device:
            await device.subscribe(await installation.workspace(headers))
            installation.server.shutdown.set()
            assert await device.closed() == 1001


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (frame(BINARY, b"{}"), 1003),
        (frame(TEXT, b""), 1002),
        (frame(TEXT, b"subscribe"), 1002),
        (frame(TEXT, b"[]"), 1002),
        (frame(TEXT, b'{"type":"subscribe"}'), 1002),
        (frame(TEXT, b'{"type":"subscribe","workspaceId":"1"}'), 1002),
        (frame(TEXT, b'{"type":"subscribe","workspaceId":["1"]}'), 1002),
        (frame(TEXT, b'{"type":"listen","workspaceId":"%b"}' % NOBODYS.encode()), 1002),
        (
            frame(TEXT, b'{"type":"subscribe","workspaceId":"%b","x":1}' % NOBODYS.encode()),
            1002,
        ),
        (
            frame(TEXT, b'{"type":"subscribe","workspaceId":"%b"}' % NOBODYS.upper().encode()),
            1002,
        ),
        (frame(TEXT, b"[" * MAX_MESSAGE), 1002),
        (frame(TEXT, b" " * (MAX_MESSAGE + 1)), 1009),
        (frame(TEXT, b"", length=1 << 40), 1009),
        (frame(TEXT, b"\xff"), 1007),
        (frame(TEXT, b"{}", masked=False), 1002),
    ],
    ids=range(15),
)
async def test_invalid_message_closes_the_stream_with_the_reason(
    installation: Installation, sent: bytes, code: int
) -> None:
    _, headers = await installation.account()
    async with installation.device(*headers) as device:
        await device.peer.send(sent)
        assert await device.closed() == code
    assert installation.hub.listened_to() == []


async def test_stream_accepts_at_most_a_thousand_subscriptions(installation: Installation) -> None:
    made, headers = await installation.account()
    ids = [_workspace(number) for number in range(MAX_SUBSCRIPTIONS + 1)]

    async def found(transaction: Transaction) -> None:
        for workspace_id in ids:
            await transaction.execute(
                "INSERT INTO workspaces (id, name, position, created_at)"
                " VALUES ($1::uuid, '', 0, 0)",
                workspace_id,
            )
            await transaction.execute(
                "INSERT INTO members (workspace_id, account_id, role, joined_at)"
                " VALUES ($1::uuid, $2::uuid, 'owner', 0)",
                workspace_id,
                made.account.account_id,
            )

    await installation.identity.store.write(found)
    async with installation.device(*headers) as device:
        for workspace_id in ids[:-1]:
            await device.say(type="subscribe", workspaceId=workspace_id)
        for workspace_id in ids[:-1]:
            assert (await device.next_message())["workspaceId"] == workspace_id
        assert await device.subscribe(ids[0]) == 0
        await device.say(type="unsubscribe", workspaceId=ids[0])
        assert await device.subscribe(ids[-1]) == 0
        await device.say(type="subscribe", workspaceId=ids[0])
        assert await device.closed() == 1008


async def test_subscription_while_the_store_is_unavailable_is_to_be_retried(
    installation: Installation,
) -> None:
    _, headers = await installation.account()
    workspace_id = await installation.workspace(headers)
    async with installation.device(*headers) as device:
        installation.identity.store.away = True
        await device.say(type="subscribe", workspaceId=workspace_id)
        assert await device.closed() == 1013


async def test_temporarily_unavailable_store_ends_no_stream() -> None:
    async with caller_state(check_every=0.01) as installation:
        _, headers = await installation.account()
        workspace_id = await installation.workspace(headers)
        async with installation.device(*headers) as device:
            await device.subscribe(workspace_id)
            installation.identity.store.away = True
            reads = installation.identity.store.reads
            with trio.fail_after(5):
                while installation.identity.store.reads < reads + 3:
                    await trio.lowlevel.checkpoint()
            installation.identity.store.away = False
            await installation.write(workspace_id, "a.md", headers)
            assert await device.next_message() == changed(workspace_id, 1)


async def test_vanished_device_is_forgotten(installation: Installation) -> None:
    _, headers = await installation.account()
    workspace_id = await installation.workspace(headers)
    async with installation.device(*headers) as device:
        await device.subscribe(workspace_id)
        assert installation.hub.listened_to() == [workspace_id]
    with trio.fail_after(5):
        while installation.hub.listened_to():
            await trio.lowlevel.checkpoint()
    await installation.write(workspace_id, "a.md", headers)


async def read_nothing(_: WorkspaceId) -> None:
    """No store is asked."""


class _Waiting:
    """A connection whose client has asked for one workspace, and collects what it is sent."""

    def __init__(self, workspace_id: WorkspaceId) -> None:
        asked = {"type": "subscribe", "workspaceId": workspace_id}
        self._asked = [json.dumps(asked)]
        self._woken = trio.Event()
        self.received: list[dict[str, object]] = []

    def wake(self) -> None:
        self._woken.set()

    async def receive_or_wake(self, patience: float) -> str | None:
        if self._asked:
            return self._asked.pop()
        await self._woken.wait()
        self._woken = trio.Event()
        return None

    async def send_frame(self, sent: Frame) -> None:
        self.received.append(json.loads(sent[sent.index(b"{") :]))

    def offer_frame(self, sent: Frame) -> bool:
        self.received.append(json.loads(sent[sent.index(b"{") :]))
        return True


def _stream_of(
    connection: _Waiting, hub: NoticeHub[Frame], workspace_access: ReadAccess
) -> NoticeStream:
    async def still_valid() -> bool:
        return True

    return NoticeStream(
        cast(ServerWebSocket, connection),
        hub,
        account_id=AccountId("ann"),
        workspace_access=workspace_access,
        still_valid=still_valid,
        checks=SharedTimer(math.inf, NoticeStream.recheck_access),
    )


@pytest.mark.parametrize(
    ("found", "deleted", "received"),
    [
        (None, False, gone(_workspace(1), "not_found")),
        (WorkspaceAccess(START, member=False), False, gone(_workspace(1), "not_found")),
        (None, True, gone(_workspace(1), "not_found")),
        (WorkspaceAccess(START, member=True), True, gone(_workspace(1), "deleted")),
        (
            WorkspaceAccess(at(1), member=True),
            False,
            {
                "type": "subscribed",
                "workspaceId": _workspace(1),
                "position": 2,
                "mark": at(2).mark,
            },
        ),
    ],
    ids=["unknown", "foreign", "unknown and deleted", "deleted", "visible"],
)
async def test_workspace_that_changes_while_it_is_looked_up_is_told_by_the_result_alone(
    found: WorkspaceAccess | None, deleted: bool, received: dict[str, object]
) -> None:
    workspace_id = _workspace(1)
    looking, looked = trio.Event(), trio.Event()

    async def look_up(_: object) -> dict[WorkspaceId, WorkspaceAccess]:
        looking.set()
        await looked.wait()
        return {} if found is None else {workspace_id: found}

    connection, hub = _Waiting(workspace_id), NoticeHub(changed_frame, read_nothing)
    stream = _stream_of(connection, hub, look_up)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.run)
        nursery.start_soon(stream.run)
        await looking.wait()
        for position in (1, 2):
            hub.announce(workspace_id, at(position))
            await wait_all_tasks_blocked()
        if deleted:
            hub.announce_gone(workspace_id)
        looked.set()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert connection.received[1:] == [received]


async def test_earlier_position_is_told_if_it_is_certain() -> None:
    workspace_id = _workspace(1)

    async def look_up(_: object) -> dict[WorkspaceId, WorkspaceAccess]:
        return {workspace_id: WorkspaceAccess(at(5), member=True)}

    connection, hub = _Waiting(workspace_id), NoticeHub(changed_frame, read_nothing)
    stream = _stream_of(connection, hub, look_up)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        await wait_all_tasks_blocked()
        for cursor, certain in ((at(3), False), (at(4, "other"), True), (at(5), False)):
            stream.changed(
                workspace_id, cursor, changed_frame(workspace_id, cursor), certain=certain
            )
        nursery.cancel_scope.cancel()
    assert [each["position"] for each in connection.received[1:]] == [5, 4, 5]


async def test_workspace_that_a_check_does_not_find_is_told_once_and_forgotten() -> None:
    workspace_id = _workspace(1)
    found = {workspace_id: WorkspaceAccess(at(5), member=True)}

    async def look_up(_: object) -> dict[WorkspaceId, WorkspaceAccess]:
        return found.copy()

    connection, hub = _Waiting(workspace_id), NoticeHub(changed_frame, read_nothing)
    stream = _stream_of(connection, hub, look_up)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        await wait_all_tasks_blocked()
        found.clear()
        for _ in range(2):
            stream.recheck_access()
            await wait_all_tasks_blocked()
        assert connection.received[2:] == [gone(workspace_id, "deleted")]
        assert hub.listened_to() == []
        nursery.cancel_scope.cancel()
