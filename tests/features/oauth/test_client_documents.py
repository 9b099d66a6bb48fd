"""Metadata documents of programs are kept for some time."""

import json

import pytest
import trio

from octavo.features.oauth.clients import (
    FAILED_SECONDS,
    KEPT_SECONDS,
    MAX_KEPT,
    ClientDocuments,
)
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
    await trio.sleep(KEPT_SECONDS)
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
    await trio.sleep(FAILED_SECONDS)
    with pytest.raises(OAuthRefusal):
        await documents.client(ADDRESS)
    assert fetched.times == 2


async def test_documents_that_are_kept_are_limited() -> None:
    documents = ClientDocuments(Fetched(b"{}"))
    for number in range(MAX_KEPT + 5):
        with pytest.raises(OAuthRefusal):
            await documents.client(ClientId(f"https://client.example/{number}"))
    assert len(documents._kept) == MAX_KEPT
