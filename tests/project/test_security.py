"""The page on security: the tests that it names exist, and its numbers are those of the code."""

import ast
import inspect
import re
from collections.abc import Callable
from functools import cache

from octavo.access.attempts import KNOWN_DEVICES, RATES, Attempts
from octavo.access.audit import RefusedAttempts
from octavo.features.accounts import argon2id, passwords
from octavo.features.accounts.argon2id import Argon2
from octavo.features.accounts.passwords import HASH_SECONDS, KNOWN_OF_ONE, Passwords
from octavo.features.accounts.rules.device_token import DEVICE_TOKEN_SECONDS
from octavo.features.accounts.rules.password import LONGEST, RESET_SECONDS, SHORTEST
from octavo.features.accounts.rules.portal import TOKEN_SECONDS
from octavo.features.accounts.rules.session import DAY, MAX_KEYS, SessionLife
from octavo.features.images import image_work
from octavo.features.legal.feature import LARGEST
from octavo.features.mail.rules import BUDGET_SECONDS, REQUEST_DELAY_SECONDS
from octavo.features.mail.smtp import SEND_SECONDS, STEP_SECONDS
from octavo.features.members.invitations_of_terminal import FIRST_INVITATION_LASTS
from octavo.features.members.rules import INVITATION_SECONDS, LONGEST_SECONDS
from octavo.features.oauth.api.oauth import REGISTRATIONS
from octavo.features.oauth.public_fetch import MAX_BYTES
from octavo.features.oauth.public_fetch import SECONDS as DOCUMENT_SECONDS
from octavo.features.publishing.rules import TOKEN_BYTES
from octavo.features.publishing.signing import TICKET_SECONDS
from octavo.features.publishing.sql.link_reports import MAX_OPEN
from octavo.http.callers import cleared_cookie
from octavo.http.contract.endpoint import AUTHENTICATED_SECONDS
from octavo.http.contract.prepared_response import API_HEADERS, PAGE_HEADERS
from octavo.http.pages.forms import LONGEST_SMALL, MOST_FIELDS
from octavo.http.pages.localized import LOCALES
from octavo.http.pages.responses import message_cookie
from octavo.model.access import token
from octavo.model.access.rate import Rate
from octavo.render.html_writer import MAX_DEPTH
from octavo.service.settings import Settings
from octavo.store.queries.audit import MAX_REFUSALS
from octavo.workers import process
from tests.e2e.overload.report import BEGIN, END
from tests.e2e.test_event_loop import LONGEST as LONGEST_NOTE
from tests.e2e.test_event_loop import MOST_MS, MOST_OF_ESCAPES_MS
from tests.project.source import ROOT

# A list in the page may break after any word.
_WRITTEN, _, _REST = (ROOT / "docs/security.md").read_text().partition(BEGIN)
# What was measured is no number of the code.
PAGE = re.sub(r"\s*\n(?![\n|#-])", " ", _WRITTEN + _REST.partition(END)[2])
NAMED = re.compile(r"`((?:packages/\w+/)?tests/[\w/]+\.py)::(test_\w+)`")
SETTINGS = Settings()
COST = Argon2()
LIFE = SessionLife()
MIB = 1024 * 1024
SIGN_IN, REGISTRATION = RATES["sign-in"], RATES["registration"]


def default(of: Callable[..., object], name: str) -> object:
    """The default of a parameter."""
    return inspect.signature(of).parameters[name].default


def rate(of: Rate | None) -> str:
    return "none" if of is None else f"{of.count} in {of.period:g} seconds"


API_KEY, OPAQUE = token.api_key(bytes(32)), token.opaque_token(bytes(32))
CHECKSUM = 6
RANDOM = len(API_KEY) - len(token.KEY_PREFIX) - CHECKSUM
KEY_BITS = (62**RANDOM).bit_length() - 1
BITS = token.ENTROPY * 8
OF_LINK, OF_REPORTS = RATES["published-link"], RATES["link-report"].client
assert OF_LINK.account is not None
OF_ACCOUNT = SIGN_IN.account
assert OF_ACCOUNT is not None

OF_KNOWN = RATES["known-devices"].account
assert OF_KNOWN is not None
OF_PROGRAMS = RATES[REGISTRATIONS].client
QUOTED = [
    (
        f"with {image_work.MAX_MEMORY // MIB} MiB of address space and "
        f"{image_work.MAX_SECONDS} seconds of processor time"
    ),
    f"After {HASH_SECONDS:g} seconds a process is killed",
    f"{process.MAX_OPEN_FILES} open files, {process.MAX_FILE_SIZE // 1024 // MIB} GiB for a file",
    (
        f"{image_work.MAX_MEMORY // MIB} MiB of address space, and"
        f" {passwords.MAX_MEMORY // 1024 // MIB} GiB for passwords"
    ),
    "the median and the 99th percentile",
    f"{default(Passwords, 'known_waiting')} places in the queue that others can't take",
    f"each account has at most {KNOWN_OF_ONE}, and the turns",
    f"with {SETTINGS.known_device_queue // KNOWN_OF_ONE} accounts or more",
    f"always {KNOWN_DEVICES} times as many",
    f"gets {OF_KNOWN.count} with all of them",
    f"says so for {DEVICE_TOKEN_SECONDS // DAY:g} days",
    (
        f"429 after {OF_ACCOUNT.count} attempts for an address or {SIGN_IN.client.count} from a "
        f"client within {SIGN_IN.client.period:g} seconds"
    ),
    f"at most {default(Attempts, 'maximum'):,} entries each",
    f"with {default(Attempts, 'maximum'):,} attempts for others",
    f"one hash runs for each {Argon2().lanes} processors, {default(Passwords, 'waiting')} wait",
    "when it is sent, {:g} to {:g} seconds later".format(*REQUEST_DELAY_SECONDS),
    f"its token has {8 * TOKEN_BYTES} random bits",
    f"| published link | {8 * TOKEN_BYTES} bits | {4 * TOKEN_BYTES // 3} characters",
    f"| 44 characters of base64url | {TICKET_SECONDS / 3600:g} hours |",
    (
        f"429 after {OF_LINK.account.count} attempts for a link or {OF_LINK.client.count} from a "
        f"client within {OF_LINK.client.period:g} seconds"
    ),
    (
        f"{OF_REPORTS.count} from a client within {OF_REPORTS.period:g} seconds; {MAX_OPEN} open "
        "ones of a link are kept"
    ),
    f"without redirects, within {DOCUMENT_SECONDS:g} seconds and {MAX_BYTES / 1024:g} KiB",
    (
        f"{OF_PROGRAMS.count} from a client within {OF_PROGRAMS.period:g} seconds; those that "
        "nobody allowed anything"
    ),
    f"keys have {KEY_BITS} random bits",
    f"tokens have {BITS} random bits",
    f"at most {SETTINGS.mail_per_address} within an hour",
    f"a limit of {SETTINGS.connections_per_client} connections for a client",
    (
        f"a budget of {SETTINGS.memory // MIB} MiB, a client at most "
        f"{SETTINGS.memory_per_client // MIB} MiB"
    ),
    (
        f"at most {default(RefusedAttempts, 'maximum')} entries and one more for each code every "
        f"{default(RefusedAttempts, 'interval'):g} seconds, and {MAX_REFUSALS:,} stored"
    ),
    f"it works once, within {TOKEN_SECONDS:g} seconds",
    f"argon2id with {COST.passes} passes, {COST.memory // 1024} MiB and {COST.lanes} lanes",
    f"{STEP_SECONDS:g} seconds for a reply, {SEND_SECONDS:g} seconds for a message",
    f"at least {SHORTEST} and at most {LONGEST} characters after NFKC",
    (
        f"{COST.passes} passes, {COST.memory // 1024} MiB, {COST.lanes} lanes, a salt of "
        f"{argon2id._SALT} bytes, a hash of {argon2id._HASH} bytes"
    ),
    (
        f"One hash runs at a time for each {Argon2().lanes} processors and "
        f"{default(Passwords, 'waiting')} wait"
    ),
    *(f"| `{name}` | {rate(each.client)} | {rate(each.account)} |" for name, each in RATES.items()),
    f"after {LIFE.idle / DAY:g} days without activity, and after {LIFE.absolute / DAY:g} days",
    f"Its token is {BITS} random bits",
    *(
        f"| {name} | {BITS} bits | {len(OPAQUE)} characters of base64url |"
        for name in ("session", "invitation", "reset of a password", "portal")
    ),
    f"{INVITATION_SECONDS / DAY:g} days, at most {LONGEST_SECONDS / DAY:g} days",
    f"{TOKEN_SECONDS:g} seconds | one |",
    *(
        f"| {KEY_BITS} bits | `{prefix}`, {RANDOM} characters, a checksum of {CHECKSUM} |"
        for prefix in (token.KEY_PREFIX, token.OPERATOR_PREFIX)
    ),
    f"at most {MAX_KEYS} for an account",
    f"A file has at most {LARGEST / 1024:g} KiB",
    f"Entries are deleted after {SETTINGS.audit_days:g} days",
    f"of up to {default(RefusedAttempts, 'interval'):g} seconds are lost",
    "for at most 60 seconds; that includes signing out",
    f"has at most {LONGEST_SMALL / 1024:g} KiB and {MOST_FIELDS} fields",
    f"a text of {LONGEST_SMALL / 1024:g} KiB at most is shown again",
    f"{len(LOCALES)} locales can be loaded",
    f"takes at most {MOST_MS:g} ms of it at a time, and up to {MOST_OF_ESCAPES_MS:g} ms",
    f"a text of {LONGEST_NOTE / MIB:g} MiB of nothing but quotes",
    f"nested at most {MAX_DEPTH} deep",
]
"""Every sentence of the page with a number, written with the constants of the code."""

STANDARDS = re.compile(
    r"Linux \d\.\d+|Landlock \d|x86-64|ARM64"
    r"|SHA-256|HMAC-SHA-256|CRC-32|RFC 9106|argon2(?:id)?|base64url|nh3|IPv[46]|/64|/48"
    r"|\b(?:4\d\d|500)(?= `| |,|:|;)"
)
"""Names and statuses with digits."""


@cache
def functions(path: str) -> frozenset[str]:
    """The names of the functions of a module, including methods."""
    tree = ast.parse((ROOT / path).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    # Suites for both engines are methods.
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def test_named_tests_exist() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) > 100
    assert PAGE.count("tests/") == len(named) + PAGE.count("`tests/project/test_security.py`")
    assert [f"{path}::{name}" for path, name in named if name not in functions(path)] == []


def test_each_row_of_the_attempts_names_a_test_or_says_that_there_is_none() -> None:
    part = PAGE[PAGE.index("## What an attacker tries") : PAGE.index("## How it works")]
    rows = [row for row in re.findall(r"^\|.*\|$", part, re.MULTILINE) if "---" not in row]
    tried = [row for row in rows if not re.match(r"\| (try|fault) \|", row)]
    assert len(tried) > 60
    assert [row for row in tried if not NAMED.search(row) and "**not defended**" not in row] == []


def test_numbers_are_those_of_the_code() -> None:
    assert [each for each in QUOTED if each not in PAGE] == []


def test_every_number_is_checked() -> None:
    rest = PAGE
    for each in QUOTED:
        rest = rest.replace(each, "")
    rest = STANDARDS.sub("", re.sub(r"`[^`]*`", "", rest))
    assert re.findall(r".{0,40}\d.{0,20}", rest) == []


def test_times_in_words_are_those_of_the_code() -> None:
    assert "the first one an hour" in PAGE
    assert "| an hour | one |" in PAGE
    assert FIRST_INVITATION_LASTS == RESET_SECONDS == BUDGET_SECONDS == 3600
    assert "took longer than a second" in PAGE
    assert AUTHENTICATED_SECONDS == 1
    assert b"Max-Age=60" in message_cookie("signed-out")[1]


def test_attributes_of_the_cookie_are_those_of_the_code() -> None:
    assert cleared_cookie()[1] == (
        b"__Host-octavo=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
    )
    assert "The cookie `__Host-octavo` is `Secure`, `HttpOnly`, `SameSite=Lax`" in PAGE


def test_headers_are_those_of_the_code() -> None:
    for headers in (API_HEADERS, PAGE_HEADERS):
        for name, value in headers:
            quoted = value.decode()
            if name != b"content-security-policy":
                quoted = f"{name.decode()}: {quoted}"
            assert f"`{quoted}`" in PAGE
