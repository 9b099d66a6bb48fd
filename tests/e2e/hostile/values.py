"""Values for places where another kind of value belongs."""

import base64
import json
import random

JUNK = (
    "",
    " ",
    "*",
    "0",
    "-1",
    "1e9",
    "9223372036854775808",
    "null",
    "true",
    "\u00e9",
    "..",
    "%00",
    "%2e%2e%2f",
    "%ff%fe",
    "%",
    "'; DROP TABLE accounts; --",
    "${jndi:ldap://a}",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "a" * 3000,
)
TAGS = (
    "*",
    '""',
    '"a',
    'W/"a"',
    '"a", "b"',
    "*, *",
    "W/",
    '"\\"',
    '"a" "b"',
    ",",
    '"' + "a" * 2000 + '"',
    ", ".join(f'"{number}"' for number in range(500)),
)
_LONE = "\ud800"
VALUES: tuple[object, ...] = (
    None,
    True,
    -1,
    0.5,
    2**53,
    2**64,
    10**400,
    1e308,
    "",
    "\0",
    _LONE,
    "\u202e",
    "a" * 70_000,
    "../../etc/passwd",
    "con.md",
    "e\u0301.md",
    [],
    {},
    [[]],
    {"": ""},
    {"__proto__": {"a": 1}},
)


def cursor(rng: random.Random, ids: list[str]) -> str:
    """Strings that look like a cursor of a list."""
    parts = rng.choice(
        ([], [""], ["\0"], [_LONE], [1], [rng.choice(ids)], ["", ""], ["a", rng.choice(ids)])
    )
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def document(rng: random.Random) -> bytes:
    """Invalid JSON, or JSON that nobody would send."""
    return rng.choice(
        (
            b"",
            b"{",
            b"[]",
            b"null",
            b"\xef\xbb\xbf{}",
            b"{}{}",
            b'{"a":NaN}',
            b'{"a":1e999}',
            b'{"path":"a.md","path":"b.md","text":""}',
            b'{"\xff":1}',
            b"[" * 50_000,
            b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
            b"1" * 10_000,
            b'{"text":"' + b"\\u0000" * 1_000 + b'"}',
            b"\0" * 100,
        )
    )
