"""Device tokens: only the secret makes one, for one address and one browser."""

from hypothesis import given
from hypothesis import strategies as st

from octavo.model.accounts.address import Address
from octavo.model.accounts.device_token import (
    DEVICE_BYTES,
    device_token,
    known_device,
    with_token,
)

DEVICES = st.binary(min_size=DEVICE_BYTES, max_size=DEVICE_BYTES)
ADDRESSES = st.sampled_from([Address(f"{name}@example.org") for name in "abcdef"])
SECRETS = st.binary(min_size=32, max_size=32)


@given(DEVICES, ADDRESSES, SECRETS)
def test_token_proves_its_browser(device: bytes, address: Address, secret: bytes) -> None:
    assert known_device(device_token(device, address, secret), address, secret) == device


@given(DEVICES, ADDRESSES, ADDRESSES, SECRETS, SECRETS)
def test_token_proves_nothing_for_another_address_or_secret(
    device: bytes, address: Address, other: Address, secret: bytes, another: bytes
) -> None:
    token = device_token(device, address, secret)
    if other != address:
        assert known_device(token, other, secret) is None
    if another != secret:
        assert known_device(token, address, another) is None


@given(DEVICES, ADDRESSES, SECRETS, st.data())
def test_changed_token_proves_nothing(
    device: bytes, address: Address, secret: bytes, data: st.DataObject
) -> None:
    token = device_token(device, address, secret)
    at = data.draw(st.integers(0, len(token) - 1))
    sign = data.draw(st.sampled_from("abcAB01-_=.ä").filter(lambda each: each != token[at]))
    assert known_device(token[:at] + sign + token[at + 1 :], address, secret) is None


@given(st.text(max_size=300), ADDRESSES, SECRETS)
def test_anything_else_proves_nothing(tokens: str, address: Address, secret: bytes) -> None:
    assert known_device(tokens, address, secret) is None


@given(DEVICES, st.lists(ADDRESSES, min_size=1, max_size=12), SECRETS, st.text(max_size=40))
def test_browser_is_known_to_the_last_four_people_who_signed_in(
    device: bytes, people: list[Address], secret: bytes, before: str
) -> None:
    tokens = before
    for each in people:
        tokens = with_token(device_token(device, each, secret), tokens)
    newest = list(dict.fromkeys(reversed(people)))[:4]
    assert [each for each in newest if known_device(tokens, each, secret) == device] == newest
    assert tokens.count(".") == len(newest) - 1
