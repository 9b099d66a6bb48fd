"""What the sender of messages may look like."""

import pytest

from octavo.features.mail.settings import Sender
from octavo.model.access.account import Address


@pytest.mark.parametrize(
    ("text", "sender"),
    [
        ("Notes@Example.org", Sender("", Address("notes@example.org"))),
        ("Octavo <notes@example.org>", Sender("Octavo", Address("notes@example.org"))),
        ('"Oktavo, Büro" <a@b.example>', Sender("Oktavo, Büro", Address("a@b.example"))),
    ],
)
def test_parse_reads_an_address_with_and_without_a_name(text: str, sender: Sender) -> None:
    assert Sender.parse(text) == sender
    assert Sender.parse(str(sender)) == sender


@pytest.mark.parametrize(
    "text", ["", "notes", "<>", "A <b", "A\r\nBcc: <a@b.example>", "\u202eA <a@b>"]
)
def test_parse_refuses_what_is_not_one_mailbox(text: str) -> None:
    with pytest.raises(ValueError, match="is not a sender"):
        Sender.parse(text)
