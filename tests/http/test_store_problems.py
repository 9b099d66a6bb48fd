"""Responses while the store fails, or a workspace is overloaded, and the effects."""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
import trio
from greenroom import ActorCrashed, ActorQuarantined, ActorStopped, MailboxFull
from octavo_rules.problems import Problem

from octavo.http.refusals import failures_as_problems, problem_of
from octavo.store import StoreError, StoreFull, StoreUnavailable
from octavo.store.blobs import BlobKey, BlobsFull, BlobsUnavailable
from octavo.store.queries.blobs import BlobCollected
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import Json, NotesApi, opened, refusal
from tests.features.archives.test_sql import collected

MUTATION = "01900000-0000-7000-8000-eeeeeeeeeeee"
PNG = encoded(picture((20, 10)), "PNG")
NEW = MappingProxyType({"path": "a.md", "text": "one", "mutationId": MUTATION})


HOSTILE = "/srv/octavo: ann@db.example, 10.0.0.1:5432, PostgreSQL 15.3"


@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailable(HOSTILE),
        StoreUnavailable(HOSTILE, outcome_unknown=True),
        StoreFull(HOSTILE),
        BlobsUnavailable(HOSTILE),
        BlobsFull(HOSTILE),
        BlobCollected(HOSTILE),
    ],
    ids=lambda error: type(error).__name__,
)
def test_failure_is_a_problem_without_its_text(error: Exception) -> None:
    problem = problem_of(error)
    assert problem is not None
    written = f"{problem.detail} {problem.members} {problem.headers}"
    assert not any(word in written for word in HOSTILE.split())


async def create(api: NotesApi) -> Response:
    return await api.owner.post(api.files, dict(NEW))


@pytest.mark.parametrize("kept", [False, True], ids=["before it was kept", "after it was kept"])
async def test_change_with_an_unknown_outcome_has_one_effect_when_repeated(
    api: NotesApi, kept: bool
) -> None:
    api.store.fail = StoreUnavailable("gone", outcome_unknown=True)
    api.store.commits_anyway = kept
    failed = await create(api)
    assert refusal(failed) == (503, "storage_unavailable")
    assert failed.header("retry-after") == "1"
    assert "may have been made" in failed.json()["detail"]
    receipt = await api.owner.get(f"{api.place}/receipts/{MUTATION}")
    assert receipt.status == (200 if kept else 404)
    again = await create(api)
    assert (again.status, again.json()["position"]) == (201, 1)
    assert [each["path"] for each in await api.owner.pages(api.files, 5)] == ["a.md"]


async def test_text_is_not_read_after_its_workspace_was_deleted_although_that_seemed_to_fail() -> (
    None
):
    async with opened(fresh=60) as api:
        place = f"{(await api.note('a.md', 'one')).place}?content=text"
        assert [(await api.owner.get(place)).status for _ in range(2)] == [200, 200]
        assert api.texts.cache.contents
        api.store.fail = StoreUnavailable("gone", outcome_unknown=True)
        api.store.commits_anyway = True
        assert refusal(await api.owner.delete(api.place)) == (503, "storage_unavailable")
        assert not api.texts.cache.contents
        assert (await api.owner.get(place)).status == 404
        # Where the role alone is looked up, without the workspace.
        assert (await api.owner.get(api.files)).status == 404


async def test_change_that_was_not_committed_is_reported(api: NotesApi) -> None:
    api.store.fail = StoreUnavailable("busy")
    failed = await create(api)
    assert refusal(failed) == (503, "storage_unavailable")
    assert "may have been" not in failed.json()["detail"]
    assert (await create(api)).status == 201


async def test_change_on_a_full_disk_is_reported_and_existing_data_is_readable(
    api: NotesApi,
) -> None:
    note = await api.note("b.md")
    api.store.fail = StoreFull("full")
    failed = await create(api)
    assert refusal(failed) == (507, "storage_full")
    assert failed.header("retry-after") == "30"
    assert (await note.read()).status == 200


async def test_head_is_read_again_after_a_failure(api: NotesApi) -> None:
    note = await api.note("a.md", "one")
    api.store.fail, api.store.commits_anyway = (
        StoreUnavailable("gone", outcome_unknown=True),
        True,
    )
    await note.update(text="two")
    assert refusal(await note.update(text="three")) == (412, "head_moved")
    assert (await note.read(if_none_match=note.tag)).json()["text"] == "two"


@pytest.mark.parametrize(
    ("method", "place", "document"),
    [
        ("GET", "", None),
        ("GET", "{place}/files", None),
        ("GET", "{place}/files/{id}", None),
        ("GET", "{place}/feed", None),
        ("GET", "{place}/snapshot", None),
        ("POST", "{place}/files/read", {}),
        ("POST", "{place}/files", dict(NEW)),
        ("DELETE", "{place}", None),
    ],
)
async def test_request_is_temporarily_refused_while_the_store_is_unavailable(
    api: NotesApi, method: str, place: str, document: Json | None
) -> None:
    note = await api.note("b.md")
    api.store.away = True
    target = place.format(place=api.place, id=note.id) or "/api/workspaces"
    response = await api.owner.ask(method, target, document)
    assert refusal(response) == (503, "storage_unavailable")
    assert response.header("retry-after") == "1"
    api.store.away = False
    assert (await note.read()).status == 200


async def test_image_that_took_too_long_to_be_stored_is_temporarily_refused(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = api.images.blobs.put

    async def put_late(key: BlobKey, source: Path) -> None:
        await put(key, source)
        await api.execute("UPDATE blobs SET check_at = 0")
        assert await collected(api.store) == [key]

    with monkeypatch.context() as patch:
        patch.setattr(api.images.blobs, "put", put_late)
        response = await api.owner.upload(api.place, PNG)
    assert refusal(response) == (503, "storage_unavailable")
    assert (await api.owner.upload(api.place, PNG)).status == 201


async def test_requests_over_the_workspace_queue_limit_are_refused_without_effect(
    api: NotesApi, autojump_clock: object
) -> None:
    @dataclass
    class Held:
        began: trio.Event
        release: trio.Event

        async def __call__(self) -> None:
            self.began.set()
            await self.release.wait()

    await api.note("first.md")
    held = Held(trio.Event(), trio.Event())
    api.store.before_write = held
    capacity = 1024
    responses: list[Response] = []

    async def push(number: int) -> None:
        document = {"path": f"{number}.md", "text": ""}
        responses.append(await api.owner.post(api.files, document))
        if len(responses) == 5:
            held.release.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(push, 0)
        await held.began.wait()
        for number in range(1, capacity + 6):
            nursery.start_soon(push, number)
    refused = [response for response in responses if response.status != 201]
    assert [refusal(response) for response in refused] == [(503, "workspace_busy")] * 5
    assert {response.header("retry-after") for response in refused} == {"1"}
    assert len(await api.owner.pages(api.files, 500)) == capacity + 2


@pytest.mark.parametrize(
    ("error", "code", "retry_after"),
    [
        (MailboxFull("full"), "workspace_busy", b"1"),
        (ActorStopped("stopped"), "workspace_busy", b"1"),
        (ActorQuarantined("rests", 2.4), "workspace_busy", b"3"),
    ],
)
def test_workspace_that_does_not_accept_a_request_is_busy(
    error: Exception, code: str, retry_after: bytes
) -> None:
    with pytest.raises(Problem) as raised, failures_as_problems():
        raise error
    assert raised.value.code == code
    assert raised.value.headers == ((b"retry-after", retry_after),)


async def test_bug_in_a_workspace_is_an_internal_error_and_the_workspace_continues(
    api: NotesApi, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        raise StoreError("a mistake in a script")

    api.store.before_write = fail
    response = await create(api)
    assert refusal(response) == (500, "internal_error")
    assert any(
        record.exc_info and isinstance(record.exc_info[1], ActorCrashed)
        for record in caplog.records
    )
    assert (await create(api)).status == 201
