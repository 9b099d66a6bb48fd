"""The listening socket, and the messages when it can't be opened."""

import errno
import socket

import pytest
from antechamber.listener import ListenError, open_listener


async def test_open_listener_port_zero_takes_a_free_one() -> None:
    with await open_listener("127.0.0.1", 0) as listener:
        host, port = listener.getsockname()
        assert (host, listener.getblocking()) == ("127.0.0.1", False)
        socket.create_connection((host, port)).close()


async def test_open_listener_port_in_use_is_named_with_a_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(
            ListenError, match=rf"port {port} of 127\.0\.0\.1 is in use.*another port"
        ):
            await open_listener("127.0.0.1", port)


async def test_open_listener_foreign_address_is_refused() -> None:
    # RFC 5737 reserves 192.0.2.0/24 for documentation: no machine has such an address.
    with pytest.raises(ListenError, match=r"does not have the address 192\.0\.2\.1"):
        await open_listener("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.EACCES, "may not listen on port 80"), (errno.ENOBUFS, "No buffer space")],
)
async def test_open_listener_other_failures_have_a_reason(
    number: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(socket.socket):
        def bind(self, address: object) -> None:
            raise OSError(number, "No buffer space available")

    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(ListenError, match=says):
        await open_listener("127.0.0.1", 80)
