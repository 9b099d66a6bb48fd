"""Forms and pages, requested of all routes by strangers and by an account."""

from collections import Counter
from collections.abc import Iterator
from itertools import repeat

from tests.e2e.octavo_process import PUBLIC
from tests.e2e.overload.rounds import Sent, exchange, go_round
from tests.e2e.overload.target import Target

_FIELDS = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data; boundary=b"
_PART = b'--b\r\ncontent-disposition: form-data; name="'
_END = b"\r\n--b--\r\n"
_SMALL = 64 * 1024
_TEXT = 2_000_000
# The session of the account would end.
_OF_STRANGERS = "/sign-out"

_Body = tuple[str, bytes]
"""The media type of a form, and the form."""


def sizes(target: Target) -> None:
    """Send forms with one long field."""
    text = b"x" * target.size
    _send(target, (_FIELDS, b"text=" + text), (_MULTIPART, _PART + b'text"\r\n\r\n' + text + _END))


def fields(target: Target) -> None:
    """Send forms with as many fields as there is room for."""
    part = _PART + b'a"\r\n\r\n\r\n'
    _send(
        target,
        (_FIELDS, b"a&" * (_SMALL // 2)),
        (_FIELDS, b"a&" * (target.size // 2)),
        (_MULTIPART, part * (target.size // len(part)) + _END),
    )


def part_heads(target: Target) -> None:
    """Send forms whose parts have long heads, or many lines in them."""
    name = _PART + b"x" * target.size + b'"\r\n\r\n' + _END
    line = b"x: y\r\n"
    lines = _PART + b'a"\r\n' + line * (target.size // len(line)) + b"\r\n" + _END
    _send(target, (_MULTIPART, name), (_MULTIPART, lines))


def drips(target: Target) -> None:
    """Begin forms that arrive a byte at a time."""
    bodies = (_FIELDS, b"text="), (_MULTIPART, _PART + b'text"\r\n\r\n')
    requests = list(_forms(target, *bodies, announced=target.size))

    def once(statuses: Counter[int]) -> None:
        exchange(target, requests, statuses, drip=b"x")

    go_round(once)


def unread_pages(target: Target) -> None:
    """Ask for pages and send long texts, and read no response."""
    text = b'"' * _TEXT
    bodies = (
        (_FIELDS, b"text=" + text[: _SMALL - 10]),
        (_MULTIPART, _PART + b'text"\r\n\r\n' + text + _END),
    )

    def requests() -> Iterator[Sent]:
        for path in target.pages:
            yield from repeat((_request("GET", path, _cookie(target)), b""), target.together)
        yield from _forms(target, *bodies)

    def once(statuses: Counter[int]) -> None:
        exchange(target, requests(), statuses, reads=False)

    go_round(once)


def _send(target: Target, *bodies: _Body) -> None:
    """Send the bodies to all forms."""

    def once(statuses: Counter[int]) -> None:
        exchange(target, _forms(target, *bodies), statuses)

    go_round(once)


def _forms(target: Target, *bodies: _Body, announced: int = 0) -> Iterator[Sent]:
    """Yield the requests that send each body to each form: by a stranger, an account, or with the
    stamp of one whose session has ended. They take turns where requests are sent once.
    """
    senders = (("", ""), (_cookie(target), ""), ("", target.stamp))
    for number, path in enumerate(target.forms):
        for turn, (media_type, body) in enumerate(bodies, number):
            chosen = senders if target.together > 1 else [senders[turn % len(senders)]]
            for signed, stamp in chosen:
                head = _request(
                    "POST",
                    f"{path}?stamp={stamp}" if stamp else path,
                    "" if path == _OF_STRANGERS else signed,
                    f"content-type: {media_type}\r\ncontent-length: {announced or len(body)}\r\n",
                )
                yield from repeat((head, body), target.together)


def _request(method: str, path: str, *lines: str) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: a\r\norigin: {PUBLIC}\r\nconnection: close\r\n"
    return f"{head}{''.join(lines)}\r\n".encode()


def _cookie(target: Target) -> str:
    return f"cookie: {target.cookie}\r\n"
