"""Entity tags in the headers that compare them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.etag import MOST_TAGS, EntityTag, entity_tag, parse_entity_tags

OPAQUE = st.text(st.characters(codec="latin-1", min_codepoint=0x21, exclude_characters='"\x7f'))
TAGS = st.lists(st.builds(EntityTag, OPAQUE, st.booleans()), min_size=1, max_size=6)
GAPS = st.sampled_from([",", ", ", " ,", "\t,\t", ",,", ", ,", " , , "])


def spelled(tag: EntityTag) -> str:
    return ("W/" if tag.weak else "") + f'"{tag.opaque}"'


@given(TAGS, GAPS)
def test_list_of_tags_round_trips(tags: list[EntityTag], gap: str) -> None:
    assert parse_entity_tags(gap.join(map(spelled, tags))).tags == tuple(tags)


def test_list_has_a_bounded_length() -> None:
    assert len(parse_entity_tags(", ".join(['"a"'] * MOST_TAGS)).tags) == MOST_TAGS
    with pytest.raises(ValueError, match=f"at most {MOST_TAGS}"):
        parse_entity_tags(", ".join(['"a"'] * (MOST_TAGS + 1)))


@pytest.mark.parametrize("value", ["*", " * ", "\t*"])
def test_star_matches_anything_weakly_and_nothing_strongly(value: str) -> None:
    tags = parse_entity_tags(value)
    assert tags.names_weakly("anything")
    assert "anything" not in tags.strong


@pytest.mark.parametrize(
    ("value", "strongly", "weakly"),
    [
        ('"a"', True, True),
        ('W/"a"', False, True),
        ('"b", "a"', True, True),
        ('"b", W/"a"', False, True),
        ('W/"a", "a"', True, True),
        ('"b"', False, False),
        ('"A"', False, False),
        ('""', False, False),
        ('"a,b", "a"', True, True),
    ],
)
def test_weak_tag_matches_only_by_weak_comparison(value: str, strongly: bool, weakly: bool) -> None:
    tags = parse_entity_tags(value)
    assert (("a" in tags.strong), tags.names_weakly("a")) == (strongly, weakly)


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        ",",
        "a",
        "'a'",
        '"a',
        'a"',
        '"a" "b"',
        '"a""b"',
        'w/"a"',
        'W/ "a"',
        '*, "a"',
        '"a", *',
        '"a b"',
        '"a\x7f"',
        '"a\nb"',
    ],
)
def test_malformed_list_of_tags_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"must be|contains"):
        parse_entity_tags(value)


@given(st.text(st.characters(codec="latin-1"), max_size=30))
def test_any_text_is_read_or_refused(value: str) -> None:
    try:
        tags = parse_entity_tags(value)
    except ValueError:
        return
    assert tags.anything != bool(tags.tags)


def test_tag_of_a_head_round_trips() -> None:
    tag = entity_tag("0190a0b0-0000-7000-8000-00000000000a")
    assert "0190a0b0-0000-7000-8000-00000000000a" in parse_entity_tags(tag.decode()).strong
