"""When the cost of loading a document is estimated, and the consequences."""

from octavo_rules.documents.document import initial
from octavo_rules.identity import ContentId

from octavo.model.documents.integration import MAX_STEPS
from octavo.model.documents.update_log import Growth


def test_few_updates_are_not_counted_and_many_are() -> None:
    assert not Growth(0, 0).grown(100).doubtful
    maximum = int((3 * MAX_STEPS) ** 0.5)
    assert not Growth(0, maximum).doubtful
    assert Growth(0, maximum).grown(1).doubtful
    assert Growth(maximum * maximum, 0).grown(4).doubtful


def test_document_from_the_store_is_doubtful_by_its_history_only() -> None:
    assert not Growth.unknown(1_000_000, 1_000_000).doubtful
    assert not Growth.unknown(10_000, 20_000).doubtful
    assert Growth.unknown(200_000, 100_000).doubtful


def test_plain_document_is_cheap() -> None:
    state = initial(ContentId("c"), "text " * 1000).state
    growth, dear = Growth(0, 10_000).recounted(lambda: state)
    assert not dear
    assert growth.since == 0
    assert not growth.doubtful
