"""The range of paths below a folder is that of the rule."""

from hypothesis import given
from hypothesis import strategies as st

from octavo.model.publishing.link import is_below
from octavo.store.scripts.path_range import below

PATHS = st.lists(
    st.sampled_from(["tea", "tea0", "tea ", "te", "t", "\U0001f375", "\ufffd"]),
    min_size=1,
    max_size=3,
).map("/".join)


@given(PATHS, st.just("") | PATHS)
def test_range_has_the_paths_below_a_folder_and_no_others(path: str, folder: str) -> None:
    start, end = below(folder)
    assert (start <= path < end) == is_below(path, folder)
