"""Times, sizes and numbers in the language of the reader, and what else a browser prefers.

Preferences come from headers whose length is bounded, and each value is parsed once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from antechamber.rejection import MEDIA_TYPE
from babel import Locale
from babel.dates import format_date, format_datetime, format_skeleton, format_timedelta
from babel.numbers import format_decimal
from werkzeug.datastructures import LanguageAccept, MIMEAccept
from werkzeug.http import parse_accept_header

from octavo.http import contract

MOST_BYTES = 1024
"""Characters of a header with preferences; a longer one counts as none."""
MOST_MEMBERS = 32
"""Members of its list."""
_REMEMBERED = 512
_OFFERED = ("text/html", MEDIA_TYPE, "application/json")


@lru_cache(_REMEMBERED)
def prefers_document(accept: str) -> bool:
    """Return whether a client that sent ``accept`` wants problem details instead of a page.

    It does when it prefers JSON to HTML (RFC 9110 section 12.5.1). Clients without a preference get
    the page.
    """
    best = parse_accept_header(_bounded(accept), MIMEAccept).best_match(_OFFERED)
    return best not in (None, _OFFERED[0])


@lru_cache(_REMEMBERED)
def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether a client that sent ``accept-encoding`` decompresses gzip."""
    return parse_accept_header(_bounded(accept_encoding)).quality("gzip") > 0


@lru_cache(_REMEMBERED)
def preferred_locale(accept_language: str) -> Locale:
    """Return the locale of a reader who sent ``accept-language``."""
    return locale_of(parse_accept_header(_bounded(accept_language), LanguageAccept).values())


def _bounded(header: str) -> str:
    if len(header) > MOST_BYTES or header.count(",") >= MOST_MEMBERS:
        return ""
    return header


_ENGLISH = Locale("en")
_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")
_STEP = 1000
LOCALES = (
    *("ar", "bg", "bn", "ca", "cs", "da", "de", "de_AT", "de_CH", "el", "en", "en_AU", "en_CA"),
    *("en_GB", "es", "es_MX", "et", "fa", "fi", "fr", "fr_CA", "he", "hi", "hr", "hu", "id", "it"),
    *("ja", "ko", "lt", "lv", "nb", "nl", "pl", "pt", "pt_PT", "ro", "ru", "sk", "sl", "sr", "sv"),
    *("th", "tr", "uk", "vi", "zh", "zh_Hant"),
)
"""The locales of dates and numbers."""
_KNOWN = {locale.replace("_", "-").lower(): locale for locale in LOCALES} | {
    "no": "nb",
    "nn": "nb",
    "zh-tw": "zh_Hant",
    "zh-hk": "zh_Hant",
    "es-419": "es_MX",
}
# The first name that a user agent contains wins: most contain the names of several others.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class When:
    """A time as it is shown.

    Attributes:
        tag: as it is written in the API.
        relative: such as "2 hours ago".
        exact: date and time in UTC.
        day: the day in UTC without its year, such as "1 December".
        month: the month in UTC, such as "December 2026".
        language: the language tag of all.
    """

    tag: str
    relative: str
    exact: str
    day: str
    month: str
    language: str


def locale_of(tags: Iterable[str]) -> Locale:
    """Return the locale of the first language tag that is known, preferred first; else English.

    A tag is known with its first two parts, or by its first one. Only `LOCALES` are loaded: each
    takes a megabyte and many milliseconds, and stays.
    """
    for tag in tags:
        parts = tag.lower().split("-")
        name = _KNOWN.get("-".join(parts[:2])) or _KNOWN.get(parts[0])
        if name is not None:
            return Locale.parse(name)
    return _ENGLISH


def when(time: datetime | str, now: float, locale: Locale) -> When:
    """Return a time of the API as it is shown ``now``, in seconds of Unix time."""
    moment = datetime.fromisoformat(time) if isinstance(time, str) else time
    distance = moment.timestamp() - now
    # Times of the API are rounded down, some to the minute.
    near = timedelta(seconds=distance if abs(distance) >= 1 else -1)
    relative = format_timedelta(near, add_direction=True, threshold=0.95, locale=locale)
    exact = format_datetime(moment, "medium", locale=locale) + " UTC"
    if locale.language == "en":
        day = format_date(moment, "d MMMM", locale=locale)
    else:
        day = format_skeleton("MMMMd", moment, locale=locale)
    month = format_skeleton("yMMMM", moment, locale=locale)
    tag = time if isinstance(time, str) else contract.written_time(time)
    return When(tag, relative, exact, day, month, str(locale).replace("_", "-"))


def size(count: int, locale: Locale) -> str:
    """Return a size in bytes, such as "1.2 MB"."""
    number, unit = float(count), 0
    while round(number, 1) >= _STEP and unit + 1 < len(_UNITS):
        number, unit = number / _STEP, unit + 1
    pattern = "#,##0" if unit == 0 or number >= 100 else "#,##0.#"
    name = "byte" if count == 1 else _UNITS[unit]
    return f"{format_decimal(number, pattern, locale=locale)} {name}"


@lru_cache(maxsize=2048)
def number(count: int, locale: Locale) -> str:
    """Return a whole number, such as "1,234"."""
    return format_decimal(count, locale=locale)


def device_name(user_agent: str) -> str:
    """Return what a person calls the browser with ``user_agent``, such as "Firefox on Linux"."""
    browser, system = _first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or user_agent.partition("/")[0][:40] or "Unknown device"


def _first(names: Sequence[tuple[str, str]], text: str) -> str:
    return next((name for part, name in names if part in text), "")
