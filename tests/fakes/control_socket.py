"""A control socket that sends one response, in place of a server."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from octavo.control.serving import control_listener
from octavo.store.data_folder import holding


@contextmanager
def responding(folder: Path, response: bytes) -> Iterator[Callable[[], bytes]]:
    """Send ``response`` to one caller; yield a function that returns what the caller sent."""
    asked: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        stream, _ = listener.accept()
        with stream:
            asked.append(stream.recv(1000))
            stream.sendall(response)

    with holding(folder), control_listener(folder) as listener:
        listener.settimeout(30)
        thread = threading.Thread(target=serve, args=[listener])
        thread.start()
        yield lambda: asked[0]
        thread.join()
