"""What is answered while the store fails, or a workspace is too busy, and what came of it."""

from dataclasses import dataclass
from types import MappingProxyType

import pytest
import trio

from octavo.actors.core import ActorCrashed, ActorQuarantined, ActorStopped, MailboxFull
from octavo.http.file_problems import refusals_as_problems
from octavo.http.problems import Problem
from octavo.store import StoreError, StoreFull, StoreUnavailable
from tests.http.asgi import Answer
from tests.http.vault.front import Front, Json, refusal

MUTATION = "01900000-0000-7000-8000-eeeeeeeeeeee"
NEW = MappingProxyType({"path": "a.md", "text": "one", "mutationId": MUTATION})


async def create(front: Front) -> Answer:
    return await front.owner.post(front.files, dict(NEW))


@pytest.mark.parametrize("kept", [False, True], ids=["before it was kept", "after it was kept"])
async def test_change_whose_fate_is_unknown_has_one_effect_when_it_is_sent_again(
    front: Front, kept: bool
) -> None:
    front.store.fail = StoreUnavailable("gone", outcome_unknown=True)
    front.store.keep = kept
    failed = await create(front)
    assert refusal(failed) == (503, "storage_unavailable")
    assert failed.header("retry-after") == "1"
    assert "may have been done" in failed.json()["detail"]
    receipt = await front.owner.get(f"{front.place}/receipts/{MUTATION}")
    assert receipt.status == (200 if kept else 404)
    again = await create(front)
    assert (again.status, again.json()["position"]) == (201, 1)
    assert [each["path"] for each in await front.owner.pages(front.files, 5)] == ["a.md"]


async def test_change_that_was_not_kept_is_told_so(front: Front) -> None:
    front.store.fail = StoreUnavailable("busy")
    failed = await create(front)
    assert refusal(failed) == (503, "storage_unavailable")
    assert "may have been" not in failed.json()["detail"]
    assert (await create(front)).status == 201


async def test_change_that_finds_no_room_is_told_so_and_what_is_kept_is_read(front: Front) -> None:
    note = await front.note("b.md")
    front.store.fail = StoreFull("full")
    failed = await create(front)
    assert refusal(failed) == (507, "storage_full")
    assert failed.header("retry-after") == "30"
    assert (await note.read()).status == 200


async def test_head_is_read_anew_behind_a_failure(front: Front) -> None:
    note = await front.note("a.md", "one")
    front.store.fail, front.store.keep = StoreUnavailable("gone", outcome_unknown=True), True
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
async def test_request_is_refused_for_now_while_the_store_is_away(
    front: Front, method: str, place: str, document: Json | None
) -> None:
    note = await front.note("b.md")
    front.store.away = True
    target = place.format(place=front.place, id=note.id) or "/api/workspaces"
    answer = await front.owner.ask(method, target, document)
    assert refusal(answer) == (503, "storage_unavailable")
    assert answer.header("retry-after") == "1"
    front.store.away = False
    assert (await note.read()).status == 200


async def test_requests_beyond_what_the_workspace_holds_are_refused_and_change_nothing(
    front: Front, autojump_clock: object
) -> None:
    @dataclass
    class Held:
        began: trio.Event
        release: trio.Event

        async def __call__(self) -> None:
            self.began.set()
            await self.release.wait()

    await front.note("first.md")
    held = Held(trio.Event(), trio.Event())
    front.store.before_write = held
    capacity = 1024
    answers: list[Answer] = []

    async def push(number: int) -> None:
        document = {"path": f"{number}.md", "text": ""}
        answers.append(await front.owner.post(front.files, document))
        if len(answers) == 5:
            held.release.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(push, 0)
        await held.began.wait()
        for number in range(1, capacity + 6):
            nursery.start_soon(push, number)
    refused = [answer for answer in answers if answer.status != 201]
    assert [refusal(answer) for answer in refused] == [(503, "workspace_busy")] * 5
    assert {answer.header("retry-after") for answer in refused} == {"1"}
    assert len(await front.owner.pages(front.files, 500)) == capacity + 2


@pytest.mark.parametrize(
    ("error", "code", "retry_after"),
    [
        (MailboxFull("full"), "workspace_busy", b"1"),
        (ActorStopped("stopped"), "workspace_busy", b"1"),
        (ActorQuarantined("rests", 2.4), "workspace_busy", b"3"),
    ],
)
def test_workspace_that_did_not_take_a_request_is_busy(
    error: Exception, code: str, retry_after: bytes
) -> None:
    with pytest.raises(Problem) as raised, refusals_as_problems():
        raise error
    assert raised.value.code == code
    assert raised.value.headers == ((b"retry-after", retry_after),)


async def test_mistake_in_a_workspace_is_an_internal_error_and_the_workspace_goes_on(
    front: Front, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        raise StoreError("a mistake in a script")

    front.store.before_write = fail
    answer = await create(front)
    assert refusal(answer) == (500, "internal_error")
    assert any(
        record.exc_info and isinstance(record.exc_info[1], ActorCrashed)
        for record in caplog.records
    )
    assert (await create(front)).status == 201
