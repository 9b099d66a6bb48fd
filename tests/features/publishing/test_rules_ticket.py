"""Tickets prove one thing: that this link was opened, with this password, not long ago."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import WorkspaceId

from octavo.features.publishing.rules import LinkTarget, PublicationId, PublishedLink
from octavo.features.publishing.signing import read_ticket, sign_ticket, verify_ticket

LINK = PublishedLink(
    PublicationId("019caf07-2b11-7d42-8e6f-35c9a0d1b784"),
    WorkspaceId("019caf07-2b11-7d42-8e6f-35c9a0d1b785"),
    LinkTarget("folder", None, "tea"),
    password="a hash",
)
SECRET = b"s" * 32
TICKET = sign_ticket(LINK, 7, SECRET, 1000)


def test_ticket_is_valid_until_it_ends() -> None:
    assert read_ticket(TICKET) == (7, 1000)
    assert verify_ticket(TICKET, LINK, SECRET, 999.9)
    assert not verify_ticket(TICKET, LINK, SECRET, 1000)


def test_ticket_is_for_one_link_one_password_and_one_key() -> None:
    other = replace(LINK, publication_id=PublicationId("019caf07-2b11-7d42-8e6f-35c9a0d1b786"))
    assert not verify_ticket(TICKET, other, SECRET, 0)
    assert not verify_ticket(TICKET, replace(LINK, password="another hash"), SECRET, 0)
    assert not verify_ticket(TICKET, replace(LINK, password=None), SECRET, 0)
    assert not verify_ticket(TICKET, LINK, b"t" * 32, 0)


@given(st.integers(0, len(TICKET) - 1), st.characters())
def test_a_changed_ticket_is_none(at: int, letter: str) -> None:
    changed = TICKET[:at] + letter + TICKET[at + 1 :]
    assert verify_ticket(changed, LINK, SECRET, 0) is (changed == TICKET)


@given(st.text())
def test_anything_else_is_none(text: str) -> None:
    assert read_ticket(text) is None or len(text) == len(TICKET)
    assert not verify_ticket(text, LINK, SECRET, 0)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**50))
def test_claims_are_read_back(key: int, ends_at: int) -> None:
    claims = read_ticket(sign_ticket(LINK, key, SECRET, ends_at))
    assert claims is not None
    assert claims.key == key
    assert claims.ends_at == min(ends_at, 2**40 - 1)
