"""Metadata documents of programs are kept for some time."""

import json

import pytest
import trio

from octavo.features.oauth import clients
from octavo.features.oauth.clients import MAX_KEPT, ClientDocuments
from octavo.features.oauth.rules.refusal import OAuthRefusal
from octavo.model.access.account import ClientId

ADDRESS = ClientId("https://client.example/metadata.json")
DOCUMENT = {"client_id": ADDRESS, "redirect_uris": ["https://client.example/cb"]}


class Fetched:
    """Returns one document, and counts how often it is fetched."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.times = 0

    async def __call__(self, address: str) -> bytes:
        self.times += 1
        await trio.lowlevel.checkpoint()
        return self.content


async def test_document_is_kept_for_some_time(autojump_clock: trio.testing.MockClock) -> None:
    fetched = Fetched(json.dumps(DOCUMENT).encode())
    documents = ClientDocuments(fetched)
    for _ in range(2):
        assert (await documents.client(ADDRESS)).client_id == ADDRESS
    assert fetched.times == 1
    await trio.sleep(3_599)
    await documents.client(ADDRESS)
    assert fetched.times == 1
    await trio.sleep(1)
    await documents.client(ADDRESS)
    assert fetched.times == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"[" * 100_000, b"{}", b"\xff"])
async def test_refusal_is_kept_too(content: bytes, autojump_clock: trio.testing.MockClock) -> None:
    fetched = Fetched(content)
    documents = ClientDocuments(fetched)
    for _ in range(2):
        with pytest.raises(OAuthRefusal):
            await documents.client(ADDRESS)
    assert fetched.times == 1
    await trio.sleep(59)
    with pytest.raises(OAuthRefusal):
        await documents.client(ADDRESS)
    assert fetched.times == 1
    await trio.sleep(1)
    with pytest.raises(OAuthRefusal):
        await documents.client(ADDRESS)
    assert fetched.times == 2


async def test_documents_that_are_kept_are_limited() -> None:
    documents = ClientDocuments(Fetched(b"{}"))
    for number in range(MAX_KEPT + 5):
        with pytest.raises(OAuthRefusal):
            await documents.client(ClientId(f"https://client.example/{number}"))
    assert len(documents._kept) == MAX_KEPT


async def test_document_that_was_fetched_longest_ago_gives_way(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(clients, "MAX_KEPT", 2)
    fetched = Fetched(b"{}")
    documents = ClientDocuments(fetched)

    async def ask(name: str) -> int:
        """Return how often it was fetched for this."""
        before = fetched.times
        with pytest.raises(OAuthRefusal):
            await documents.client(ClientId(f"https://client.example/{name}"))
        return fetched.times - before

    assert [await ask("a"), await ask("b")] == [1, 1]
    await trio.sleep(60)
    # The newest two are those of a and c.
    assert [await ask("a"), await ask("c")] == [1, 1]
    assert [await ask("a"), await ask("c")] == [0, 0]


async def test_few_documents_are_fetched_at_once(autojump_clock: trio.testing.MockClock) -> None:
    running: list[str] = []

    async def fetch(address: str) -> bytes:
        running.append(address)
        await trio.sleep_forever()
        raise AssertionError

    documents = ClientDocuments(fetch)
    with trio.move_on_after(1):
        async with trio.open_nursery() as nursery:
            for number in range(9):
                address = ClientId(f"https://client.example/{number}")
                nursery.start_soon(documents.client, address)
    assert len(running) == 4
