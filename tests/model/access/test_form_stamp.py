"""Stamps prove where an account could write, for as long as a session and a day after it."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.model.access.form_stamp import (
    AFTER_SESSION_SECONDS,
    FormStamp,
    signed_stamp,
    valid_stamp,
)

SECRET = b"s" * 32
SESSION = 1000.0
LIFE = int(1000 * (SESSION + AFTER_SESSION_SECONDS))
IDS = st.uuids().map(str)
STAMPS = st.builds(
    FormStamp, IDS.map(AccountId), IDS.map(WorkspaceId), st.integers(0, (1 << 48) - 1)
)
STAMP = FormStamp(AccountId(str(UUID(int=1))), WorkspaceId(str(UUID(int=2))), 5_000)


@given(STAMPS, st.integers(0, LIFE))
def test_stamp_is_read_until_it_expires(stamp: FormStamp, later: int) -> None:
    text = signed_stamp(stamp, SECRET)
    assert valid_stamp(text, SECRET, stamp.made_at + later, SESSION) == stamp


@pytest.mark.parametrize("now", [4_999, 5_000 + LIFE + 1])
def test_stamp_of_another_time_is_invalid(now: int) -> None:
    assert valid_stamp(signed_stamp(STAMP, SECRET), SECRET, now, SESSION) is None


@given(st.integers(0, 53), st.integers(1, 255))
def test_stamp_with_one_byte_changed_is_invalid(at: int, difference: int) -> None:
    data = bytearray(urlsafe_b64decode(signed_stamp(STAMP, SECRET)))
    data[at] ^= difference
    text = urlsafe_b64encode(bytes(data)).decode()
    assert valid_stamp(text, SECRET, STAMP.made_at, SESSION) is None


@given(st.text(max_size=100))
def test_other_text_is_no_stamp(text: str) -> None:
    assert valid_stamp(text, SECRET, 0, SESSION) is None


def test_stamp_of_another_installation_is_invalid() -> None:
    text = signed_stamp(STAMP, b"t" * 32)
    assert valid_stamp(text, SECRET, STAMP.made_at, SESSION) is None
