"""The close of a WebSocket whose first frame is too large is always sent."""

import socket
from collections import Counter

import pytest

from packages.antechamber.tests.strict_client import check_websocket_frames, read_responses
from packages.antechamber.tests.websocket_peer import TEXT, frame
from tests.e2e.listening import HANDSHAKE
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import settle

TIMES = 50
TOO_BIG = (1009).to_bytes(2)


def received(port: int, data: bytes) -> bytes:
    """What the server sends until it closes."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        plain.sendall(data)
        try:
            while more := plain.recv(65_536):
                found += more
        except ConnectionResetError:
            found += b"(reset)"
    return found


def end_of(data: bytes) -> str:
    """How the WebSocket ended."""
    statuses, frames = read_responses(data)
    assert statuses == [101]
    if frames.endswith(b"(reset)"):
        return "reset"
    check_websocket_frames(frames)
    at = frames.rfind(b"\x88")
    return "1009" if frames[at + 2 : at + 4] == TOO_BIG else f"{frames[-60:]!r}"


@pytest.mark.parametrize("size", [0, 100, 200_000])
def test_frame_that_is_too_large_right_after_the_handshake_gets_1009(size: int) -> None:
    with data_folder() as folder, running(folder) as octavo:
        headers = {**HANDSHAKE, **settle(octavo).by_key}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"GET /api/sync/notices HTTP/1.1\r\n{lines}\r\n".encode()
        data = head + frame(TEXT, bytes(size), length=1 << 40)
        ends = Counter(end_of(received(octavo.port, data)) for _ in range(TIMES))
        assert octavo.stop() == (0, [])
    assert ends == {"1009": TIMES}
