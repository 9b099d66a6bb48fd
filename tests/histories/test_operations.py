"""Commits that no workspace could execute are refused."""

import pytest

from tests.histories.operations import Commit, Register, Swap

A = Register("w", "a")


@pytest.mark.parametrize(
    ("swaps", "message"),
    [
        ((), "m has no swaps"),
        ((Swap(Register("v", "a"), None, 1),), r"m leaves w: \['v/a'\]"),
        ((Swap(A, None, 1), Swap(A, 1, 2)), "m moves one register twice"),
    ],
)
def test_impossible_commit_is_refused(swaps: tuple[Swap, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Commit("w", "m", swaps)
