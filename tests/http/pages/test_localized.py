"""Times, sizes and devices as people read them."""

from datetime import UTC, datetime

import pytest
from babel import Locale
from babel.localedata import locale_identifiers

from octavo.http.pages.localized import LOCALES, device_name, locale_of, size, when

NOW = datetime(2026, 3, 14, 12, 0, tzinfo=UTC).timestamp()
TAGS = [name.replace("_", "-") for name in locale_identifiers()]
ENGLISH, GERMAN = Locale("en"), Locale("de")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["de-CH", "en"], "de_CH"),
        (["de"], "de"),
        (["tlh", "fr"], "fr"),
        (["de-Latn-DE"], "de"),
        (["de-LI"], "de"),
        (["zh-TW"], "zh_Hant"),
        (["nn-NO"], "nb"),
        (["*"], "en"),
        (["../../etc/passwd", "en_US\n"], "en"),
        (["x" * 1000], "en"),
        ([], "en"),
    ],
)
def test_first_known_language_counts(tags: list[str], expected: str) -> None:
    assert str(locale_of(tags)) == expected


def test_only_listed_locales_are_loaded() -> None:
    assert {str(locale_of([each])) for each in TAGS} <= set(LOCALES)
    assert {str(locale_of([each.replace("_", "-")])) for each in LOCALES} == set(LOCALES)


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-03-14T12:00:00.000Z", "1 second ago"),
        ("2026-03-14T11:59:59.500Z", "1 second ago"),
        ("2026-03-14T11:58:00.000Z", "2 minutes ago"),
        ("2026-03-14T10:00:00.000Z", "2 hours ago"),
        ("2026-03-21T12:00:00.000Z", "in 1 week"),
        ("2025-03-14T12:00:00.000Z", "1 year ago"),
    ],
)
def test_time_is_relative(time: str, expected: str) -> None:
    assert when(time, NOW, ENGLISH).relative == expected


def test_time_is_exact_in_the_language_of_the_reader() -> None:
    shown = when("2026-03-14T10:00:00.000Z", NOW, GERMAN)
    assert shown.relative == "vor 2 Stunden"
    assert shown.exact == "14.03.2026, 10:00:00 UTC"
    assert shown.language == "de"


@pytest.mark.parametrize(
    ("locale", "day", "month"),
    [(ENGLISH, "1 December", "December 2026"), (GERMAN, "1. Dezember", "Dezember 2026")],
)
def test_day_and_month_are_those_in_utc(locale: Locale, day: str, month: str) -> None:
    shown = when("2026-12-01T00:00:00+00:00", NOW, locale)
    assert (shown.day, shown.month) == (day, month)


@pytest.mark.parametrize(
    ("count", "english", "german"),
    [
        (0, "0 bytes", "0 bytes"),
        (1, "1 byte", "1 byte"),
        (999, "999 bytes", "999 bytes"),
        (1000, "1 KB", "1 KB"),
        (1234, "1.2 KB", "1,2 KB"),
        (12_345, "12.3 KB", "12,3 KB"),
        (123_456, "123 KB", "123 KB"),
        (999_949, "1,000 KB", "1.000 KB"),
        (999_950, "1 MB", "1 MB"),
        (123_456_789, "123 MB", "123 MB"),
        (10**21, "1,000,000 PB", "1.000.000 PB"),
    ],
)
def test_size_has_a_readable_number(count: int, english: str, german: str) -> None:
    assert size(count, ENGLISH) == english
    assert size(count, GERMAN) == german


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
        ),
        (
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
                "Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0"
            ),
            "Edge on Windows",
        ),
        (
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
                "(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
            ),
            "Safari on iPhone",
        ),
        (
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) "
                "Chrome/140.0.0.0 Mobile Safari/537.36"
            ),
            "Chrome on Android",
        ),
        ("curl/8.5.0", "curl"),
        ("x" * 300, "x" * 40),
        ("", "Unknown device"),
    ],
)
def test_device_has_the_name_that_people_use(agent: str, expected: str) -> None:
    assert device_name(agent) == expected
