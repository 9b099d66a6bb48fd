"""Rules for new passwords, and the normalized form in which passwords are hashed."""

import unicodedata
from urllib.parse import quote

from octavo.features.accounts.rules.password_strength import is_guessable
from octavo.model.access.account import Address, local_part

RESET_SECONDS = 3600.0
"""Seconds for which a token is valid."""

RESET_PATH = "/reset-password"
"""The path of the page that takes a token and a new password."""


def reset_link(public_url: str, token: str) -> str:
    """Return the link of ``token`` at the installation with the origin ``public_url``."""
    return f"{public_url}{RESET_PATH}?token={quote(token, safe='')}"


SHORTEST, LONGEST = 10, 256
"""Characters of a password in its normalized form."""

# NFKC expands a character to at most 18, and composition reduces their number by less than this.
_MAX_GIVEN = 8 * LONGEST


def hashed_form(password: str) -> str | None:
    """Return the form of ``password`` that is hashed; None if it is too long.

    It is NFKC (NIST SP 800-63B section 3.1.1.2), so that different keyboard inputs of the same
    character give the same password.
    """
    if len(password) > _MAX_GIVEN:
        return None
    form = unicodedata.normalize("NFKC", password)
    return form if len(form) <= LONGEST else None


def password_fault(password: str, address: Address) -> str | None:
    """Return what is wrong with a new ``password`` of the account with ``address``, or None.

    The text is for people, and never quotes the password.
    """
    form = hashed_form(password)
    if form is None:
        return f"A password has at most {LONGEST} characters."
    if len(form) < SHORTEST:
        return f"A password has at least {SHORTEST} characters."
    folded = form.casefold()
    if folded in (address, local_part(address)):
        return "The password is the address: choose one that others don't know."
    if is_guessable(form):
        return "The password is too easy to guess: choose another."
    return None
