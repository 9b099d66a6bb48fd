"""What counts as a crash, and how groups are unwrapped."""

from __future__ import annotations

import pytest
from greenroom.errors import is_crash, unwrap


def test_groups_of_one_are_unwrapped_and_larger_ones_kept() -> None:
    inner = ValueError("x")
    assert unwrap(ExceptionGroup("a", [ExceptionGroup("b", [inner])])) is inner
    pair = ExceptionGroup("two", [inner, KeyError()])
    assert unwrap(pair) is pair


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
def test_exceptions_that_end_programs_are_not_crashes(error: BaseException) -> None:
    assert not is_crash(error)
    assert not is_crash(BaseExceptionGroup("mixed", [ValueError(), error]))
    assert is_crash(ExceptionGroup("two", [ValueError(), KeyError()]))
