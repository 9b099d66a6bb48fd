"""What is sent again and when, and what the final error contains."""

from random import Random

import httpx
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from octavo_client import (
    ClientError,
    ConnectionFailed,
    HeadMovedError,
    NotFoundError,
    NotSignedInError,
    ProblemError,
    RateLimitedError,
    Retrying,
    UnavailableError,
    UnexpectedResponse,
)
from octavo_rules.identity import FileId
from trio.testing import MockClock

from packages.client.tests.stub_server import (
    CHANGE,
    FILE,
    FILE_DOCUMENT,
    REVISION,
    WORKSPACE,
    Stub,
    ok,
    problem,
    workspace_of,
)


def made() -> httpx.Response:
    return ok(CHANGE, 201)


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError,
        httpx.ReadError,
        httpx.RemoteProtocolError,
        httpx.ReadTimeout,
        httpx.WriteError,
        lambda: problem(503, "workspace_busy"),
        lambda: problem(429, "rate_limited"),
    ],
)
async def test_change_with_a_mutation_is_resent_unchanged_until_it_gets_a_response(
    failure: type[httpx.TransportError], autojump_clock: MockClock
) -> None:
    stub = Stub([failure, failure, made])
    async with stub.client() as client:
        change = await workspace_of(client).create("a.md", "one")
    assert change.file_id == FILE
    first, *again = stub.bodies()
    assert len(again) == 2
    assert again == [first, first]
    assert first["mutationId"]


async def test_change_without_a_response_is_repeated_with_the_mutation_in_the_error(
    autojump_clock: MockClock,
) -> None:
    stub = Stub([httpx.ReadError, httpx.ReadError, made])
    async with stub.client(attempts=2) as client:
        workspace = workspace_of(client)
        with pytest.raises(ConnectionFailed) as failed:
            await workspace.create("a.md", "one")
        await workspace.create("a.md", "one", failed.value.mutation_id)
    first, *again = stub.bodies()
    assert again == [first, first]


async def test_read_is_sent_again(autojump_clock: MockClock) -> None:
    stub = Stub([httpx.ReadError, lambda: problem(503, "not_ready"), lambda: ok(FILE_DOCUMENT)])
    async with stub.client() as client:
        assert (await workspace_of(client).file(FileId(FILE))).text == "one"


@pytest.mark.parametrize(
    ("failure", "doubt"), [(httpx.ConnectError, False), (httpx.ReadError, True)]
)
async def test_change_without_a_response_reports_whether_it_was_sent(
    failure: type[httpx.TransportError], doubt: bool, autojump_clock: MockClock
) -> None:
    stub = Stub([failure])
    async with stub.client(attempts=4) as client:
        with pytest.raises(ConnectionFailed) as failed:
            await workspace_of(client).create("a.md", "one")
    assert failed.value.outcome_unknown is doubt
    assert len(stub.requests) == 4


async def test_read_without_a_response_has_no_unknown_outcome(autojump_clock: MockClock) -> None:
    stub = Stub([httpx.ReadError])
    async with stub.client() as client:
        with pytest.raises(ConnectionFailed) as failed:
            await workspace_of(client).file(FileId(FILE))
    assert not failed.value.outcome_unknown


@pytest.mark.parametrize(
    ("refusal", "doubt"),
    [
        (problem(412, "head_moved"), False),
        (problem(409, "path_conflict"), False),
        (problem(422, "invalid_path"), False),
        *((problem(status, "code"), False) for status in (400, 405, 410, 413, 415, 428)),
        (problem(401, "not_signed_in"), True),
        *((problem(status, "code"), True) for status in (403, 423, 429)),
        (problem(404, "not_found"), True),
        (problem(500, "internal_error"), True),
    ],
    ids=lambda value: str(value.status_code) if isinstance(value, httpx.Response) else None,
)
async def test_refusal_after_a_lost_response_settles_only_its_own_request(
    refusal: httpx.Response, doubt: bool, autojump_clock: MockClock
) -> None:
    stub = Stub([httpx.ReadError, refusal])
    async with stub.client() as client:
        with pytest.raises(ProblemError) as failed:
            await workspace_of(client).create("a.md", "one")
    assert failed.value.outcome_unknown is doubt


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 412, 423])
async def test_refusal_of_the_first_attempt_is_raised_immediately_with_a_known_outcome(
    status: int,
) -> None:
    stub = Stub([problem(status, "code", fileIds=[FILE])])
    async with stub.client() as client:
        with pytest.raises(ProblemError) as failed:
            await workspace_of(client).create("a.md", "one")
    assert (failed.value.status, failed.value.code, failed.value.detail) == (status, "code", "why")
    assert failed.value.members == {"fileIds": [FILE]}
    assert not failed.value.outcome_unknown
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, NotSignedInError),
        (404, NotFoundError),
        (410, NotFoundError),
        (412, HeadMovedError),
        (429, RateLimitedError),
        (503, UnavailableError),
        (418, ProblemError),
    ],
)
async def test_refusal_has_the_class_of_its_status(
    status: int, kind: type[ProblemError], autojump_clock: MockClock
) -> None:
    stub = Stub([problem(status, "code")])
    async with stub.client(attempts=1) as client:
        with pytest.raises(ProblemError) as failed:
            await workspace_of(client).file(FileId(FILE))
    assert type(failed.value) is kind


@pytest.mark.parametrize("failure", [httpx.ReadError, lambda: problem(503, "workspace_busy")])
async def test_change_without_a_mutation_is_not_sent_again_once_it_may_have_happened(
    failure: type[httpx.TransportError],
) -> None:
    stub = Stub([failure])
    async with stub.client() as client:
        with pytest.raises(ClientError) as failed:
            await client.create_workspace("Notes")
    assert failed.value.outcome_unknown
    assert len(stub.requests) == 1


@pytest.mark.parametrize("failure", [httpx.ConnectError, lambda: problem(429, "rate_limited")])
async def test_change_without_a_mutation_is_resent_if_it_certainly_did_not_happen(
    failure: type[httpx.TransportError], autojump_clock: MockClock
) -> None:
    workspace = {"id": WORKSPACE, "name": "n", "role": "owner", "createdAt": "2026-01-01T00:00:00Z"}
    stub = Stub([failure, lambda: ok(workspace, 201)])
    async with stub.client() as client:
        assert (await client.create_workspace("n")).id == WORKSPACE


async def test_waits_grow_up_to_their_bound(autojump_clock: MockClock) -> None:
    stub = Stub([httpx.ConnectError])
    began = trio.current_time()
    async with stub.client(attempts=6, first=1.0, longest=5.0) as client:
        with pytest.raises(ConnectionFailed):
            await workspace_of(client).create("a.md", "one")
    assert trio.current_time() - began == pytest.approx(1 + 2 + 4 + 5 + 5)


async def test_wait_requested_by_the_server_is_observed(autojump_clock: MockClock) -> None:
    stub = Stub([problem(503, "workspace_busy", 7), made])
    began = trio.current_time()
    async with stub.client(first=1.0) as client:
        await workspace_of(client).create("a.md", "one")
    assert trio.current_time() - began == pytest.approx(7 + 1)


async def test_wait_that_is_too_long_is_left_to_the_caller() -> None:
    stub = Stub([problem(429, "rate_limited", 300)])
    async with stub.client() as client:
        with pytest.raises(RateLimitedError) as refused:
            await workspace_of(client).create("a.md", "one")
    assert refused.value.retry_after == 300


async def test_waiting_ends_with_the_scope_around_it(autojump_clock: MockClock) -> None:
    stub = Stub([httpx.ConnectError])
    async with stub.client(attempts=1000) as client:
        with trio.move_on_after(60) as scope:
            await workspace_of(client).create("a.md", "one")
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", b'{"fileId":1}', b"\xff", b'{"position":9007199254740993.5}']
)
async def test_response_outside_the_contract_leaves_the_outcome_of_a_change_unknown(
    body: bytes,
) -> None:
    stub = Stub([httpx.Response(201, content=body)])
    async with stub.client() as client:
        with pytest.raises(UnexpectedResponse) as failed:
            await workspace_of(client).create("a.md", "one")
    assert failed.value.outcome_unknown


async def test_unknown_members_are_ignored() -> None:
    newer = {**CHANGE, "weather": "fine", "revision": {**REVISION, "mood": 3}}
    async with Stub([ok(newer, 201)]).client() as client:
        assert (await workspace_of(client).create("a.md", "one")).path == "a.md"


async def test_problem_without_a_document_is_described_by_its_status(
    autojump_clock: MockClock,
) -> None:
    async with Stub([httpx.Response(502, content=b"<html>bad gateway")]).client() as client:
        with pytest.raises(ProblemError) as failed:
            await workspace_of(client).file(FileId(FILE))
    assert (failed.value.status, failed.value.code) == (502, "")


async def test_every_request_names_caller_and_protocol() -> None:
    stub = Stub([made])
    async with stub.client() as client:
        await workspace_of(client).create("a.md", "one")
    [request] = stub.requests
    assert request.headers["authorization"] == "Bearer octk_key"
    assert request.headers["sync-protocol"] == "1"


@given(failures=st.integers(1, 10_000), seed=st.integers(), asked=st.floats(0, 100))
def test_wait_is_between_the_requested_time_and_its_upper_bound(
    failures: int, seed: int, asked: float
) -> None:
    retrying = Retrying(first=0.5, longest=8.0)
    wait = retrying.wait(failures, Random(seed), asked)
    assert asked <= wait <= asked + min(8.0, 0.5 * 2 ** min(failures - 1, 60))


@given(seed=st.integers())
def test_pause_is_close_to_the_configured_value(seed: int) -> None:
    assert 15.0 <= Retrying(rest=30.0).stay_away(Random(seed)) < 45.0
