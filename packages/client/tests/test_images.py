"""Images are uploaded as forms; contents are read as they arrive."""

import os
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from octavo_client import ConnectionFailed, FileContent, UnexpectedResponse
from octavo_rules.identity import FileId, RevisionId
from trio.testing import MockClock

from .stub_server import CHANGE, FILE, REVISION, Stub, ok, problem, workspace_of

OBJECT = "01900000-0000-7000-8000-0000000000bb"
UPLOAD: dict[str, Any] = {
    "objectId": OBJECT,
    "digest": "0" * 64,
    "size": 3,
    "mediaType": "image/png",
    "width": 2,
    "height": 1,
    "frames": 1,
    "expiresAt": "2026-01-01T00:00:00.000Z",
}
PICTURE = b"\x89PNG" + bytes(600_000)


class Uploads(httpx.AsyncBaseTransport):
    """Collects the bodies of uploads; the first ``failures`` of them fail."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.bodies: list[bytes] = []
        self.headers = httpx.Headers()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        self.headers = request.headers
        self.bodies.append(b"".join([chunk async for chunk in request.stream]))
        if len(self.bodies) <= self.failures:
            raise httpx.ReadError("broken")
        return ok(UPLOAD, 201)


class Chunks:
    def __init__(self, *chunks: bytes) -> None:
        self._chunks = [*chunks]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._chunks:
            raise StopAsyncIteration
        return self._chunks.pop(0)


def form(headers: httpx.Headers, body: bytes) -> list[tuple[bytes, bytes]]:
    """The heads and the contents of the parts of a form."""
    kind, _, boundary = headers["content-type"].partition("; boundary=")
    assert kind == "multipart/form-data"
    before, *parts, after = body.split(b"--" + boundary.encode())
    assert (before, after) == (b"", b"--\r\n")
    split = [part.split(b"\r\n\r\n", 1) for part in parts]
    return [(head.strip(), content.removesuffix(b"\r\n")) for head, content in split]


async def uploaded(
    server: Uploads, source: Path | bytes | AsyncIterator[bytes], name: str = "a.png"
) -> list[tuple[bytes, bytes]]:
    stub = Stub([])
    stub.handle_async_request = server.handle_async_request  # type: ignore[method-assign]
    async with stub.client() as client:
        made = await workspace_of(client).upload_image(source, name, "image/png")
    assert made.object_id == OBJECT
    return form(server.headers, server.bodies[-1])


async def test_image_is_sent_with_its_name_type_and_digest(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PICTURE)
    for source in (PICTURE, tmp_path / "a.png", Chunks(PICTURE[:7], PICTURE[7:])):
        server = Uploads()
        file, digest = await uploaded(server, source)
        assert file == (
            (
                b'content-disposition: form-data; name="file"; filename="a.png"\r\n'
                b"content-type: image/png"
            ),
            PICTURE,
        )
        assert digest == (
            b'content-disposition: form-data; name="declaredDigest"',
            sha256(PICTURE).hexdigest().encode(),
        )
        if isinstance(source, Chunks):
            assert server.headers["transfer-encoding"] == "chunked"
        else:
            assert server.headers["content-length"] == str(len(server.bodies[0]))


async def test_name_can_not_end_its_quotes_or_its_line() -> None:
    [(head, _), _] = await uploaded(Uploads(), PICTURE, 'ü"\r\n.png')
    assert 'filename="ü%22%0D%0A.png"'.encode() in head
    assert head.count(b"\r\n") == 1


async def test_upload_of_bytes_is_repeated_from_the_first_one(autojump_clock: MockClock) -> None:
    server = Uploads(failures=2)
    await uploaded(server, PICTURE)
    assert len(server.bodies) == 3
    assert len(set(server.bodies)) == 1


async def test_upload_of_chunks_is_sent_once(autojump_clock: MockClock) -> None:
    server = Uploads(failures=2)
    with pytest.raises(ConnectionFailed) as failed:
        await uploaded(server, Chunks(PICTURE))
    assert failed.value.outcome_unknown
    assert len(server.bodies) == 1


async def test_image_is_attached_with_a_mutation_and_the_known_head() -> None:
    stub = Stub([lambda: ok(CHANGE)])
    async with stub.client() as client:
        workspace = workspace_of(client)
        await workspace.attach(OBJECT, "attachments/a.png")
        await workspace.attach(
            OBJECT, "attachments/a.png", FileId(FILE), RevisionId(REVISION["id"])
        )
    new, replaced = stub.bodies()
    assert stub.requests[0].url.path.endswith(f"/attachments/{OBJECT}/finalize")
    assert new.keys() == {"path", "mutationId"}
    assert (replaced["fileId"], replaced["path"]) == (FILE, "attachments/a.png")
    assert "if-match" not in stub.requests[0].headers
    assert stub.requests[1].headers["if-match"] == f'"{REVISION["id"]}"'


def content(status: int, body: bytes, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, content=body, headers={"content-type": "image/png", **named})


async def read(content: FileContent) -> bytes:
    return b"".join([chunk async for chunk in content])


async def test_content_is_read_with_its_type_tag_and_size() -> None:
    stub = Stub([lambda: content(200, b"picture", etag='"r"')])
    async with (
        stub.client() as client,
        workspace_of(client).read_content(FileId(FILE), width=480) as found,
    ):
        assert await read(found) == b"picture"
        assert (found.media_type, found.tag, found.size) == ("image/png", '"r"', 7)
    [request] = stub.requests
    assert dict(request.url.params) == {"width": "480"}
    assert "range" not in request.headers


@pytest.mark.parametrize(
    ("start", "stop", "header"), [(2, None, "bytes=2-"), (0, 5, "bytes=0-4"), (2, 5, "bytes=2-4")]
)
async def test_range_is_requested_and_checked(start: int, stop: int | None, header: str) -> None:
    span = f"bytes {start}-{(stop or 7) - 1}/7"
    stub = Stub([lambda: content(206, b"picture"[start:stop], content_range=span)])
    async with (
        stub.client() as client,
        workspace_of(client).read_content(FileId(FILE), start=start, stop=stop) as found,
    ):
        assert await read(found) == b"picture"[start:stop]
        assert found.size == 7
    assert stub.requests[0].headers["range"] == header


@pytest.mark.parametrize(
    "response",
    [
        content(200, b"picture"),
        content(206, b"picture"),
        content(206, b"picture", content_range="bytes 0-6/7"),
    ],
)
async def test_other_range_than_the_requested_one_is_an_error(response: httpx.Response) -> None:
    async with Stub([response]).client() as client:
        with pytest.raises(UnexpectedResponse, match="not the requested range"):
            async with workspace_of(client).read_content(FileId(FILE), start=2):
                pass


@pytest.mark.parametrize(("start", "stop"), [(-1, None), (3, 3), (3, 2), (0, 0)])
async def test_empty_range_is_refused(start: int, stop: int | None) -> None:
    async with Stub([]).client() as client:
        with pytest.raises(ValueError, match="the range is empty"):
            async with workspace_of(client).read_content(FileId(FILE), start=start, stop=stop):
                pass


async def test_content_is_downloaded_to_a_file(tmp_path: Path, autojump_clock: MockClock) -> None:
    stub = Stub([lambda: problem(503, "storage_unavailable"), lambda: content(200, b"picture")])
    async with stub.client() as client:
        size = await workspace_of(client).download(FileId(FILE), tmp_path / "a.png")
    assert size == 7
    assert (tmp_path / "a.png").read_bytes() == b"picture"


async def test_download_that_breaks_leaves_no_file(tmp_path: Path) -> None:
    class Broken(httpx.AsyncByteStream):
        def __init__(self) -> None:
            self._chunks = [b"pic"]

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self

        async def __anext__(self) -> bytes:
            if not self._chunks:
                raise httpx.RemoteProtocolError("peer closed")
            return self._chunks.pop()

    stub = Stub([lambda: httpx.Response(200, stream=Broken())])
    async with stub.client() as client:
        with pytest.raises(ConnectionFailed):
            await workspace_of(client).download(FileId(FILE), tmp_path / "a.png")
    assert os.listdir(tmp_path) == []
