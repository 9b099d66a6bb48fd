"""The document cache keeps what was used last, within a memory limit."""

from octavo_rules.documents.document import initial
from octavo_rules.documents.structs import DocumentFacts
from octavo_rules.identity import ContentId, FileId, WorkspaceId

from octavo.documents import DocumentCache, LiveDocument
from octavo.documents.document_batch import BatchDocument
from octavo.model.documents.update_log import Growth

VAULT = WorkspaceId("vault")


def client() -> int:
    return 7


def kept(text: str, pairs: int = 0) -> BatchDocument:
    document = initial(ContentId("c"), text)
    facts = DocumentFacts({7: frozenset(range(pairs))})
    return BatchDocument(
        LiveDocument(document, 7),
        text,
        ContentId("c"),
        document,
        len(document.state),
        facts,
        Growth(0, 0),
        foreign=False,
        fixed=True,
        stored=document,
        kept=True,
    )


def cached(cache: DocumentCache, *names: str) -> list[str]:
    """Return which of the documents are cached; they are put back."""
    found = []
    for name in names:
        each = cache.take(VAULT, FileId(name))
        if each is not None:
            found.append(name)
            cache.put(VAULT, FileId(name), each)
    return found


def test_least_recently_used_document_is_evicted() -> None:
    cache = DocumentCache(client, 3 * 15_000)
    for name in "abc":
        cache.put(VAULT, FileId(name), kept("x" * 5000))
    assert cached(cache, "a", "b", "c") == ["a", "b", "c"]
    assert cached(cache, "a") == ["a"]
    cache.put(VAULT, FileId("d"), kept("x" * 5000))
    assert cached(cache, "a", "b", "c", "d") == ["a", "c", "d"]


def test_document_that_was_not_used_between_two_rounds_is_dropped() -> None:
    cache = DocumentCache(client, 3 * 15_000)
    for name in "ab":
        cache.put(VAULT, FileId(name), kept("x" * 5000))
    cache.drop_unused()
    assert cached(cache, "a") == ["a"]
    cache.drop_unused()
    assert cached(cache, "a", "b") == ["a"]
    # It has room again.
    for name in "cd":
        cache.put(VAULT, FileId(name), kept("x" * 5000))
    assert cached(cache, "a", "c", "d") == ["a", "c", "d"]
    # One that is in use at the moment of a round.
    entry = cache.take(VAULT, FileId("a"))
    assert entry is not None
    cache.drop_unused()
    cache.put(VAULT, FileId("a"), entry)
    cache.drop_unused()
    assert cached(cache, "a", "c", "d") == ["a"]


def test_document_is_taken_by_one_caller_only() -> None:
    cache = DocumentCache(client)
    cache.put(VAULT, FileId("a"), kept("text"))
    assert cache.take(WorkspaceId("other"), FileId("a")) is None
    assert cache.take(VAULT, FileId("a")) is not None
    assert cache.take(VAULT, FileId("a")) is None


def test_document_that_is_discarded_makes_room() -> None:
    cache = DocumentCache(client, 30_000)
    for name in "ab":
        cache.put(VAULT, FileId(name), kept("x" * 5000))
    cache.discard(VAULT, FileId("a"))
    cache.discard(VAULT, FileId("a"))
    cache.put(VAULT, FileId("c"), kept("x" * 5000))
    assert cached(cache, "a", "b", "c") == ["b", "c"]


def test_document_that_is_put_again_counts_once() -> None:
    cache = DocumentCache(client, 30_000)
    for _ in range(10):
        cache.put(VAULT, FileId("a"), kept("x" * 5000))
    cache.put(VAULT, FileId("b"), kept("x" * 5000))
    assert cached(cache, "a", "b") == ["a", "b"]


def test_document_larger_than_the_cache_is_not_kept() -> None:
    cache = DocumentCache(client, 10_000)
    cache.put(VAULT, FileId("a"), kept("x" * 20_000))
    assert cached(cache, "a") == []


def test_metadata_of_a_document_counts_against_the_limit() -> None:
    cache = DocumentCache(client, 30_000)
    for name in "ab":
        cache.put(VAULT, FileId(name), kept("x" * 1000, pairs=40))
    assert cached(cache, "a", "b") == ["a", "b"]
    cache.put(VAULT, FileId("c"), kept("x" * 1000, pairs=120))
    assert cached(cache, "a", "b", "c") == ["c"]
