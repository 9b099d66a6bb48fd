"""When a document discards its history."""

import pytest

from octavo.model.documents.update_log import DocumentLimits

LIMITS = DocumentLimits(history=4, history_free=1000, max_history=10_000)


@pytest.mark.parametrize(
    ("state", "text", "outgrown"),
    [
        (1000, 0, False),
        (1001, 0, True),
        (1001, 251, False),
        (4000, 1000, False),
        (4001, 1000, True),
        (20_000, 10_000, False),
        (20_001, 10_000, True),
    ],
)
def test_document_discards_its_history_relative_to_its_text_and_in_total(
    state: int, text: int, outgrown: bool
) -> None:
    assert LIMITS.outgrown(state, text) is outgrown
