"""What messages contain, and what can't get into them."""

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId

from octavo.features.mail.composition import Composer
from octavo.features.mail.settings import Sender
from octavo.model.access.account import LONGEST_NAME, Account, Address
from octavo.model.label import parse_label

COMPOSER = Composer(Sender("Octavo", Address("notes@example.org")), "https://notes.example.org")
TOKEN = "q3Zt8yLwXvB1nM5sKd7RfHj2PgT9cQa4UeWoIxVmNzY"
LINK = f"https://notes.example.org/reset-password?token={TOKEN}"
RESET = {"link": LINK, "minutes": 60}
HEADERS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Auto-Submitted",
    "MIME-Version",
    "Content-Type",
]


def account(name: str = "Ann", address: str = "ann@example.org") -> Account:
    return Account(AccountId("1"), Address(address), name, "member", "enabled", 0, 0)


def parsed(message: EmailMessage) -> EmailMessage:
    """The message as its recipient parses it."""
    return message_from_bytes(message.as_bytes(), policy=policy.default)


def texts(message: EmailMessage) -> tuple[str, str]:
    """The plain text and the HTML of a received message."""
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    assert plain is not None
    assert html is not None
    return plain.get_content(), html.get_content()


def test_reset_message_has_the_link_in_both_texts() -> None:
    made = parsed(
        COMPOSER.message("password_reset", account(), mail_id="7", now=1_800_000_000, **RESET)
    )
    assert made["From"] == "Octavo <notes@example.org>"
    assert made["To"] == "ann@example.org"
    assert made["Subject"] == "Choose a new password for notes.example.org"
    assert made["Date"] == "Fri, 15 Jan 2027 08:00:00 +0000"
    assert made["Message-ID"] == "<7@example.org>"
    assert made["Auto-Submitted"] == "auto-generated"
    plain, html = texts(made)
    assert LINK in plain.splitlines()
    assert f'href="{LINK}"' in html
    assert "60 minutes" in plain
    assert not any("Ann," in text for text in (plain, html))


def test_notice_of_a_changed_password_has_no_secret_and_no_token() -> None:
    made = parsed(COMPOSER.message("password_changed", account(), mail_id="7", now=0))
    for text in texts(made):
        assert "was changed" in text
        assert "token" not in text


def test_messages_are_ascii_on_the_wire_with_short_lines() -> None:
    sender = Sender("Büro ☕", Address("notes@example.org"))
    made = Composer(sender, "https://notes.example.org").message(
        "password_changed", account("Žofie 🌷"), mail_id="7", now=0
    )
    raw = made.as_bytes()
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    assert b"\n" not in raw.replace(b"\r\n", b"")
    received = parsed(made)
    assert received["From"] == "Büro ☕ <notes@example.org>"
    assert "wasn\u2019t" in texts(received)[1]


def test_same_arguments_give_the_same_bytes() -> None:
    first, second = (
        COMPOSER.message("password_reset", account(), mail_id="7", now=0, **RESET).as_bytes()
        for _ in range(2)
    )
    assert first == second


def test_values_are_escaped_in_html_only() -> None:
    sender = Sender("Octavo", Address("notes@example.org"))
    composer = Composer(sender, "https://notes.example.org/<b>&a</b>")
    plain, html = texts(parsed(composer.message("password_changed", account(), mail_id="7", now=0)))
    assert "<b>&a</b>" in plain
    assert "&lt;b&gt;&amp;a&lt;/b&gt;" in html


def test_notices_of_links_lead_to_what_can_be_done() -> None:
    reported = texts(parsed(COMPOSER.message("link_reported", account(), mail_id="7", now=0)))
    taken_down = texts(parsed(COMPOSER.message("link_taken_down", account(), mail_id="7", now=0)))
    assert all("/administration/reports" in text for text in reported)
    assert all("/workspaces" in text for text in taken_down)


@pytest.mark.parametrize("name", ["Your account is suspended: https://evil.example", "Žofie 🌷"])
def test_no_message_contains_the_display_name(name: str) -> None:
    person = account(name)
    for made in (
        COMPOSER.message("password_reset", person, mail_id="7", now=0, **RESET),
        COMPOSER.message("password_changed", person, mail_id="7", now=0),
        COMPOSER.message("link_reported", person, mail_id="7", now=0),
        COMPOSER.message("link_taken_down", person, mail_id="7", now=0),
    ):
        received = parsed(made)
        assert name not in repr(received.items())
        assert not any(name in text for text in texts(received))


@given(st.text(max_size=LONGEST_NAME))
def test_no_display_name_adds_a_header_or_a_part(name: str) -> None:
    try:
        accepted = parse_label(name, LONGEST_NAME)
    except ValueError:
        return
    made = parsed(COMPOSER.message("password_changed", account(accepted), mail_id="7", now=0))
    assert made.keys() == HEADERS
    assert [part.get_content_type() for part in made.walk()] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]


@pytest.mark.parametrize("address", ["a@b.example\r\nBcc: c@d.example", "a@b.example\n\nx"])
def test_address_that_would_add_a_header_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"newline|carriage return|linefeed"):
        COMPOSER.message("password_changed", account(address=address), mail_id="7", now=0)
