"""The links of notes that are remembered."""

from octavo.store.compression import compressed
from octavo.store.scripts.extracted_links import LinkMemory
from octavo.store.scripts.link_index import links_in

TEXT = "# Tea\n\nSee [[Water]], [the pot](../pot.md#size) and ![](pot.png).\n"


def test_links_are_those_of_the_text() -> None:
    found = LinkMemory().links(compressed(TEXT), "drinks/tea.md")
    assert found.title == "Tea"
    assert list(found.links) == links_in(TEXT, "drinks/tea.md")
    assert len(found.links) == 3


def test_links_are_extracted_once() -> None:
    memory = LinkMemory()
    assert memory.links(compressed(TEXT), "tea.md") is memory.links(compressed(TEXT), "tea.md")


def test_links_depend_on_text_and_path() -> None:
    memory = LinkMemory()
    first = memory.links(compressed(TEXT), "tea.md")
    moved = memory.links(compressed(TEXT), "drinks/tea.md")
    changed = memory.links(compressed("[[Water]]"), "tea.md")
    assert first.links != moved.links
    assert list(moved.links) == links_in(TEXT, "drinks/tea.md")
    assert list(changed.links) == links_in("[[Water]]", "tea.md")


def test_damaged_text_has_no_links() -> None:
    assert LinkMemory().links(b"damaged", "tea.md") == ("", ())


def test_what_was_used_longest_ago_is_forgotten() -> None:
    memory = LinkMemory(most_bytes=16_000)
    kept = memory.links(compressed(TEXT), "tea.md")
    for number in range(40):
        memory.links(compressed(f"[[Note {number}]]"), "tea.md")
        assert memory.links(compressed(TEXT), "tea.md") is kept
    assert 10 < len(memory) < 20


def test_note_that_would_displace_others_is_not_remembered() -> None:
    memory = LinkMemory(most_bytes=16_000)
    kept = memory.links(compressed(TEXT), "tea.md")
    text = "\n".join(f"[[{number}]]" for number in range(100))
    assert len(memory.links(compressed(text), "tea.md").links) == 100
    assert len(memory) == 1
    assert memory.links(compressed(TEXT), "tea.md") is kept
