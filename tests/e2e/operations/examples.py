"""The examples of the API document: exchanges of the cases, with fixed values for what changes."""

import json
import os
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from urllib.parse import parse_qsl

import httpx

from octavo.http.contract.assembly import contract_of
from octavo.service.registry import CONTRACT, EXAMPLES
from tests.e2e.operations.world import Json, World

OPERATIONS = {each.id: each for each in contract_of(CONTRACT)}
NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
NOTES = ("Bread", "Sourdough", "Rye bread", "Focaccia", "Pizza", "Pancakes")
PEOPLE = ("Ada", "Bo", "Cleo", "Dora", "Emil")
UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

Replacement = Callable[[str, int], str]
"""Makes the replacement of a text that is the nth other one of its kind in the example."""


def members_of(operation_id: str) -> list[str]:
    """The members that the example of an operation has."""
    each = OPERATIONS[operation_id]
    with_request = each.body is not None and each.body.model is not None
    with_response = each.response_type is not None
    return ["request"] * with_request + ["response"] * with_response


def checked_in() -> dict[str, Json]:
    """The examples in the document, by operation id."""
    found: dict[str, Json] = json.loads(EXAMPLES.read_bytes())
    return found


def recorded(world: World, operation_id: str, response: httpx.Response) -> Json:
    """The example that an exchange is; it is checked in if the environment asks for it."""
    exchange = {
        name: sent(response.request) if name == "request" else response.json()
        for name in members_of(operation_id)
    }
    found: Json = json.loads(stable(json.dumps(exchange, ensure_ascii=False), world))
    if "OCTAVO_RENEW_EXAMPLES" in os.environ:
        renewed = dict(sorted({**checked_in(), operation_id: found}.items()))
        EXAMPLES.write_text(json.dumps(renewed, ensure_ascii=False, indent=1) + "\n")
    return found


def sent(request: httpx.Request) -> object:
    if request.headers["content-type"] == "application/json":
        return json.loads(request.content)
    return dict(parse_qsl(request.content.decode()))


def stable(text: str, world: World) -> str:
    """Replace what each run has others of, the same by the same."""
    # These come first, so they have the same ids in all examples.
    text = f"{world.workspace}:{world.owner.account_id}\n{text}"
    for pattern, replacement in RULES:
        text = re.sub(pattern, partial(replaced, replacement, {}), text)
    return text.partition("\n")[2]


def replaced(replacement: Replacement, numbers: dict[str, int], found: re.Match[str]) -> str:
    return replacement(found[0], numbers.setdefault(found[0].lower(), len(numbers)))


def identifier(_: str, number: int) -> str:
    digits = sha256(f"id {number}".encode()).hexdigest()
    return f"019cebab-{digits[:4]}-7{digits[4:7]}-8{digits[7:10]}-{digits[10:22]}"


def token(found: str, number: int) -> str:
    made = urlsafe_b64encode(sha256(f"token {number}".encode()).digest()).decode()
    kind = found[:5] if found.startswith("oct") else ""
    return kind + made[: len(found) - len(kind)]


def person(found: str, number: int) -> str:
    return PEOPLE[number] if found[0].isupper() else PEOPLE[number].lower()


def time(found: str, _: int) -> str:
    # By whole hours: no case takes so long.
    hours = round((datetime.fromisoformat(found) - datetime.now(UTC)) / timedelta(hours=1))
    return f"{NOW + timedelta(hours=hours):%Y-%m-%dT%H:%M:%S.601Z}"


def document(found: str, _: int) -> str:
    """Replace the client id of the server, the only long number in a part of a document."""
    return b64encode(re.sub(rb"[\x80-\xff]{4,}[\x00-\x7f]", b"e", b64decode(found))).decode()


def vector(found: str, _: int) -> str:
    """Sort the clients of a state vector, whose ids and clocks have one byte each."""
    count, *numbers = b64decode(found)
    pairs = sorted(zip(numbers[::2], numbers[1::2], strict=True))
    return b64encode(bytes([count, *(number for pair in pairs for number in pair)])).decode()


RULES: tuple[tuple[str, Replacement], ...] = (
    # Names that cases complete to be unique.
    (f" {UUID}", lambda *_: ""),
    (rf"{UUID}(?=\.md)", lambda _, number: NOTES[number]),
    (UUID, identifier),
    (r"(?i)\b(?:person|nobody)[0-9]+", person),
    (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|\+00:00)", time),
    # Before tokens: a part of a document between two signs of base64 can look like one.
    (r'(?:(?<="state": ")|(?<="stateVector": ")|(?<="update": "))A[\w+/]+=*', document),
    (r'(?<="stateVector": ")[\w+/]+=*', vector),
    (r"(?<![\w-])(?=[\w-]*[A-Z])(?:[\w-]{32}|oct[a-z]_\w{36}|[\w-]{43})(?![\w-])", token),
    (r'(?<="month": ")[0-9-]+', lambda *_: f"{NOW:%Y-%m}"),
    (r'(?<="client_id_issued_at": )[0-9]+', lambda *_: f"{NOW.timestamp():.0f}"),
    (r'(?<="fingerprint": ")[0-9a-f]+', lambda *_: sha256().hexdigest()),
    (r'(?<="next": ")[\w-]+', lambda *_: "WyIxOSJd"),
)
