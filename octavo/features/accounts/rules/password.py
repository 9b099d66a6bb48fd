"""Rules for new passwords, among them which are guessed first, and the form that is hashed."""

import unicodedata
from urllib.parse import quote

from octavo.model.access.account import Address, local_part

COMMON_WORDS = """
access account admin administrator adobe alexander alpha amanda america amsterdam andrea andrew
angel angela anthony apple april arsenal ashley asshole august austin autumn awesome azerty
babygirl badboy bailey banana barbara barcelona baseball basketball batman beautiful berlin bigdog
biteme blahblah blessed blink bonjour booboo boomer boston brandon bubbles buddy butterfly
california canada captain carlos carolina casino cassie chan change changeit changeme charles
charlie cheese chelsea chester chicago chicken chocolate chris christ christian christmas classic
coffee computer cookie corvette cowboy cowboys creative crystal daddy dallas daniel daniela
danielle database david december default demo denver desktop diamond doctor dolphin dragon eagle
eagles edward einstein elephant elizabeth eminem emmanuel england enter everton facebook faith
falcon family fantasy february ferrari filter flower football forever forgot france frank freedom
friday friend friends fuck fucker fuckoff fuckyou gandalf garfield george germany giants ginger
god golden goldfish golfer good google grace guest guitar gunner hahaha hallo hammer hannah happy
hardcore harley hello helpme hockey hola home honda hotdog hottie house hunter hunting iceman
ihateyou iloveme iloveu iloveyou install internet iwantu jackson jamaica james january jasmine
jasper jennifer jeremy jessica jesus johnson jonathan jordan joseph joshua july june
junior justin katie keeper kevin killer king kitty knight kristina ladybug lakers laptop lauren
leather legend letmein letmeinnow liberty linkedin linux little liverpool login london loulou love
lovely lover loveyou lucky madison maggie manager manchester march marina marine marlboro marvin
master matrix matthew maverick maxwell mercedes merlin mexico michael michelle michigan mickey
midnight miller minecraft mobile monday money monica monkey monster morgan mother mountain mustang
mylove myspace naruto nascar natasha network newpassword newyork nicholas nicole ninja nirvana
nissan nothing november october office oliver online oracle orange owner panther paris parola
partner pass passe passer passphrase passwd password passwort patrick peaches peanut
pepper peter phoenix please pokemon police porsche portal possible postgres power prince princess
private public purple qazwsx qwert qwerty qwertz rabbit rachel rainbow ranger raspberry realmadrid
rebecca redskins redwings remember richard robert rocket root rosebud runner russia sakura
samantha samsung samuel sandra saturday scooter scorpion scott secret secure security september
server service sex shadow shannon shelby sierra silver simple single skywalker slayer slipknot
smokey snoopy snowball soccer software something sophie spider spiderman spring starwars steelers
stella stephanie steven summer sunday sunflower sunshine super superman superstar superuser
support sweet sweety swordfish sydney system taylor teacher techno temp temporary tennis test
tester testing texas thanks theman thomas thunder thursday tiffany tiger tigers time tinkerbell
today tomcat toyota travel trinity trouble trustme trustno tuesday turtle twitter unknown user
vampire vanessa victor victoria victory viking virginia volcom wachtwoord warrior watson website
wednesday welcome whatever william wilson windows winner winston winter wisdom wizard wolf
wolverine woman world xavier yamaha yankee yankees yellow you young zaq
"""
"""In lower case, separated by white space."""


MAX_PIECES = 3
"""A password of this many pieces or fewer is guessable."""

LONGEST_UNIT = 4
"""A password that repeats this many characters or fewer is guessable."""

_SHORTEST_WALK = 3

WORDS = frozenset(COMMON_WORDS.split())
"""Known words, of lower-case letters."""

_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "12345678901234567890",
    "0123456789",
    "qwertyuiop",
    "qwertzuiop",
    "azertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "yxcvbnm",
    "!@#$%^&*()",
    '!"§$%&/()=',
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "1q2w3e4r5t6y7u8i9o0p",
    "1a2b3c4d5e6f7g8h9i0j",
    "a1b2c3d4e5f6g7h8i9j0",
    "q1w2e3r4t5y6u7i8o9p0",
    "qazwsxedcrfvtgbyhnujmikolp",
    "qweasdzxc",
    "147258369",
)
_WALKS = (*_ROWS, *(row[::-1] for row in _ROWS))
_LONGEST_WORD = max(map(len, WORDS))
_SPELLED = str.maketrans("@4310!5$7", "aaeioisst")


def is_guessable(password: str) -> bool:
    """Return whether ``password``, in any case, is among those that attackers try first."""
    text = unicodedata.normalize("NFKC", password).casefold()
    return _repeats(text) or pieces(text) <= MAX_PIECES


def pieces(text: str) -> int:
    """Return the least number of pieces into which ``text``, in lower case, can be split.

    A piece is a known word, also with digits instead of letters; a walk on the keyboard or
    along the alphabet; one character repeated; a year; or any single character.
    """
    plain = text.translate(_SPELLED)
    fewest = [0] * (len(text) + 1)
    for end in range(1, len(text) + 1):
        fewest[end] = 1 + min(fewest[start] for start in _starts(text, plain, end))
    return fewest[-1]


def _starts(text: str, plain: str, end: int) -> list[int]:
    """Return the possible starts of a piece that ends before ``end``."""
    starts = [end - 1]
    starts += (
        start for start in range(max(0, end - _LONGEST_WORD), end - 1) if plain[start:end] in WORDS
    )
    start = end - _SHORTEST_WALK
    while start >= 0 and any(text[start:end] in walk for walk in _WALKS):
        starts.append(start)
        start -= 1
    start = end - 2
    while start >= 0 and text[start] == text[end - 1]:
        starts.append(start)
        start -= 1
    if _is_year(text[max(0, end - 4) : end]):
        starts.append(end - 4)
    return starts


def _is_year(text: str) -> bool:
    return len(text) == 4 and text[:2] in ("19", "20") and text[2:].isdecimal()


def _repeats(text: str) -> bool:
    return any(
        all(text[at] == text[at - unit] for at in range(unit, len(text)))
        for unit in range(1, min(LONGEST_UNIT, len(text) // 2) + 1)
    )


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
