"""Which passwords are taken, and the one form in which they are hashed."""

import unicodedata

from octavo.model.accounts.address import Address, local_part
from octavo.model.accounts.guessable import guessable

SHORTEST, LONGEST = 10, 256
"""Characters of a password, in the form that is hashed."""

# Of one character NFKC makes 18 at most, and of several composed ones less than so many fewer.
_MOST_GIVEN = 8 * LONGEST


def hashed_form(password: str) -> str | None:
    """Return the form of ``password`` that is hashed; None when it is too long for one.

    It is NFKC (NIST SP 800-63B section 3.1.1.2), so that keyboards that write one character in
    two ways write one password.
    """
    if len(password) > _MOST_GIVEN:
        return None
    form = unicodedata.normalize("NFKC", password)
    return form if len(form) <= LONGEST else None


def password_fault(password: str, address: Address) -> str | None:
    """Return what is wrong with a new ``password`` of the account with ``address``.

    None when it is good. The text is for people, and never quotes the password.
    """
    form = hashed_form(password)
    if form is None:
        return f"A password has at most {LONGEST} characters."
    if len(form) < SHORTEST:
        return f"A password has at least {SHORTEST} characters."
    folded = form.casefold()
    if folded in (address, local_part(address)):
        return "This is the address: a password is something that others don't know."
    if guessable(form):
        return "This is one of the passwords that are guessed first: choose another."
    return None
