"""The leaf blocks of a text: its common lines are told apart quickly, and no differently."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.links import blocks
from octavo.model.links.blocks import leaves_of

LINES = st.sampled_from(
    [
        *("", "  ", "text", "[a](b.md)", "- [a](b.md)", "* b", "+  c", "-    d", "-     code"),
        *("  - nested", "    - deep", "  more", "> - quoted", "> text", "1. one", "10) x"),
        *("```", "~~~", "  ```", "- ```", "<!--", "-->", "- <!-- a", "---", "- ---", "===", "-"),
        *(
            "# heading",
            "- # heading",
            "- ![i](j.png)",
            "- - a",
            "    code",
            "- [ ] task",
            "* * *",
            "*",
        ),
    ]
)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_item_of_an_outer_list_is_read_as_any_line(text: str) -> None:
    quick = [*leaves_of(text)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_ITEM", re.compile(r"(?!)"))
        assert quick == [*leaves_of(text)]
