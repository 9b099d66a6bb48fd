"""Device tokens: only the secret makes one, for one account, its password, and one browser."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId

from octavo.features.accounts.rules.device_token import (
    DEVICE_BYTES,
    DEVICE_TOKEN_SECONDS,
    DeviceOwner,
    claimed_device,
    device_token,
    with_token,
    without_address,
)
from octavo.model.access.account import Address

DEVICES = st.binary(min_size=DEVICE_BYTES, max_size=DEVICE_BYTES)
ADDRESSES = st.sampled_from([Address(f"{name}@example.org") for name in "abcdef"])
PASSWORDS = st.sampled_from(["$argon2id$one", "$argon2id$another"])
OWNERS = st.builds(
    DeviceOwner, st.sampled_from([AccountId("id-1"), AccountId("id-2")]), ADDRESSES, PASSWORDS
)
SECRETS = st.binary(min_size=32, max_size=32)
LIFE = DEVICE_TOKEN_SECONDS * 1000
TIMES = st.integers(0, 2**48 - 1 - LIFE)


def known_device(tokens: str, owner: DeviceOwner, now: int, secret: bytes) -> bytes | None:
    """The number of the browser, if it is known to ``owner``."""
    claim = claimed_device(tokens, owner.address, now, secret)
    return claim.device if claim is not None and claim.holds_for(owner, secret) else None


@given(DEVICES, OWNERS, TIMES, st.integers(0, 2 * LIFE), SECRETS)
def test_token_proves_its_browser_until_it_expires(
    device: bytes, owner: DeviceOwner, issued_at: int, age: int, secret: bytes
) -> None:
    token = device_token(device, owner, issued_at, secret)
    found = known_device(token, owner, issued_at + age, secret)
    assert found == (device if age < LIFE else None)


@given(DEVICES, OWNERS, TIMES, SECRETS)
def test_token_expires_after_the_time_of_the_cookie(
    device: bytes, owner: DeviceOwner, issued_at: int, secret: bytes
) -> None:
    token = device_token(device, owner, issued_at, secret)
    assert known_device(token, owner, issued_at + LIFE - 1, secret) == device
    assert known_device(token, owner, issued_at + LIFE, secret) is None


@given(DEVICES, OWNERS, OWNERS, TIMES, SECRETS, SECRETS)
def test_token_proves_nothing_for_another_account_password_or_secret(
    device: bytes,
    owner: DeviceOwner,
    other: DeviceOwner,
    issued_at: int,
    secret: bytes,
    another: bytes,
) -> None:
    token = device_token(device, owner, issued_at, secret)
    assert (known_device(token, other, issued_at, secret) == device) is (other == owner)
    for changed in (
        replace(owner, account_id=AccountId("id-3")),
        replace(owner, encoded=f"{owner.encoded}x"),
        replace(owner, address=Address(f"x{owner.address}")),
    ):
        assert known_device(token, changed, issued_at, secret) is None
    if another != secret:
        assert known_device(token, owner, issued_at, another) is None


@given(DEVICES, OWNERS, TIMES, SECRETS, st.data())
def test_changed_token_proves_nothing(
    device: bytes, owner: DeviceOwner, issued_at: int, secret: bytes, data: st.DataObject
) -> None:
    token = device_token(device, owner, issued_at, secret)
    at = data.draw(st.integers(0, len(token) - 1))
    sign = data.draw(st.sampled_from("abcAB01-_=.ä").filter(lambda each: each != token[at]))
    changed = token[:at] + sign + token[at + 1 :]
    assert known_device(changed, owner, issued_at, secret) is None


# Tokens of a former format had 48 characters.
FORMER = st.text("abAB01-_", min_size=48, max_size=48)


@given(st.text(max_size=400) | FORMER, OWNERS, TIMES, SECRETS)
def test_anything_else_proves_nothing(
    tokens: str, owner: DeviceOwner, now: int, secret: bytes
) -> None:
    assert claimed_device(tokens, owner.address, now, secret) is None
    assert without_address(tokens, owner.address, secret) == ""
    token = device_token(bytes(DEVICE_BYTES), owner, now, secret)
    assert with_token(token, tokens) == token


def signed_in(owner: DeviceOwner, at: int, tokens: str, secret: bytes) -> str:
    """The tokens of a browser after a sign-in."""
    others = without_address(tokens, owner.address, secret)
    return with_token(device_token(bytes(DEVICE_BYTES), owner, at, secret), others)


@given(st.lists(OWNERS, min_size=1, max_size=12), TIMES, SECRETS, st.text(max_size=40))
def test_browser_is_known_to_the_last_four_people_who_signed_in(
    people: list[DeviceOwner], begun: int, secret: bytes, before: str
) -> None:
    tokens, now = before, begun
    last: dict[Address, DeviceOwner] = {}
    for each in people:
        now += 1
        tokens = signed_in(each, now, tokens, secret)
        last.pop(each.address, None)
        last[each.address] = each
    newest = list(reversed(last.values()))[:4]
    assert [each for each in newest if known_device(tokens, each, now, secret)] == newest
    # A former password leaves nothing behind.
    assert tokens.count(".") == len(newest) - 1


@given(st.lists(OWNERS, max_size=4, unique_by=lambda each: each.address), ADDRESSES, SECRETS)
def test_forgetting_one_address_keeps_those_of_others(
    people: list[DeviceOwner], address: Address, secret: bytes
) -> None:
    tokens = ""
    for each in people:
        tokens = signed_in(each, 1, tokens, secret)
    left = without_address(tokens, address, secret)
    known = [each for each in people if known_device(left, each, 1, secret)]
    assert known == [each for each in people if each.address != address]
