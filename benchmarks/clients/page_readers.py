"""Read published notes in a process of its own: the threads of other clients don't wait for it.

Reads ``[port, paths, readers]`` as JSON from the standard input, and every path once. Ends with 1
if a page is not that of a rendered note.
"""

import json
import sys
import threading
from http.client import HTTPConnection


def read_all(port: int, paths: list[str], readers: int) -> bool:
    """Read each path once, by so many readers; return whether each was a rendered note."""
    waiting = [*paths]
    rendered: list[bool] = []

    def read_some() -> None:
        connection = HTTPConnection("127.0.0.1", port)
        while waiting:
            connection.request("GET", waiting.pop())
            page = connection.getresponse().read()
            rendered.append(b"Section" in page and b'class="plain"' not in page)
        connection.close()

    threads = [threading.Thread(target=read_some) for _ in range(readers)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return len(rendered) == len(paths) and all(rendered)


if __name__ == "__main__":
    sys.exit(not read_all(*json.load(sys.stdin)))
