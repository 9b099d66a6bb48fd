"""Registers as a model: what reads and swaps prove wrong, and correct runs."""

import pytest
from hypothesis import given

from octavo.actors.testing.linearizability import NotLinearizable, check_linearizable
from octavo.actors.testing.registers import RegisterModel
from tests.actors.testing.test_linearizability import WRONG, on_registers
from tests.histories.operations import Read, Swap
from tests.histories.runs import Run, runs


@pytest.mark.parametrize(
    "name",
    [
        "lost update: two swaps from the same value",
        "stale read after an acknowledged write",
        "reads go back in time",
        "read of a value from nowhere",
        "effect of an operation told not executed",
        "effect of a refused operation",
        "unknown outcome that takes effect before it was asked for",
        "unknown outcome that takes effect twice",
        "refused although the expected value stood there",
        "refused with a value that did not stand there",
        "refused read that claims a reason",
    ],
)
def test_register_model_rejects_what_reads_and_swaps_prove_wrong(name: str) -> None:
    with pytest.raises(NotLinearizable):
        check_linearizable(on_registers(WRONG[name]), RegisterModel())


@given(runs(kinds=(Read, Swap), processes=5, length=600))
def test_run_of_correct_registers_is_accepted(run: Run) -> None:
    check_linearizable(on_registers(run.history.entries), RegisterModel())
