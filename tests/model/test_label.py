"""Names and devices, fit for display."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.label import LONGEST_DEVICE, device_of, parse_label


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ("Ann", "Ann"),
        ("  Ann B. \n", "Ann B."),
        ("A\u0308nn", "\u00c4nn"),
        ("Ann \U0001f469\u200d\U0001f52c", "Ann \U0001f469\u200d\U0001f52c"),
        ("x" * 100, "x" * 100),
        # What counts is the length of the label.
        ("A\u0308" * 100, "\u00c4" * 100),
        (f"{' ' * 100}x{' ' * 100}", "x"),
    ],
)
def test_label_is_composed_and_stripped(given: str, label: str) -> None:
    assert parse_label(given, 100) == label


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\u3000",
        "x" * 101,
        "x" * 1_000_000,
        "a\nb",
        "a\0b",
        "a\x1bb",
        "a\x85b",
        "a\u2028b",
        "a\ud800b",
    ],
)
def test_label_that_does_not_fit_on_one_line_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(The maximum is|At least one|Only one line) "):
        parse_label(text, 100)


@given(st.text())
def test_canonical_label_has_one_form(text: str) -> None:
    try:
        label = parse_label(text, 50)
    except ValueError:
        return
    assert parse_label(label, 50) == label
    assert 1 <= len(label) <= 50


@given(st.none() | st.binary(max_size=5_000))
def test_device_is_one_short_line_whatever_was_sent(user_agent: bytes | None) -> None:
    device = device_of(user_agent)
    assert len(device) <= LONGEST_DEVICE
    assert not any(unicodedata.category(each) == "Cc" for each in device)


def test_device_is_the_browsers_own_name() -> None:
    assert device_of(b"Mozilla/5.0 (X11)\x00\r\n") == "Mozilla/5.0 (X11)"
