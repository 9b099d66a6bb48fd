"""How problems, failures and what nobody declared are answered, and how they are logged."""

import logging
from collections.abc import Callable

import pytest

from octavo.http.application import Application
from octavo.http.bodies import ClientLeft
from octavo.http.call import Call
from octavo.http.problems import NotFound
from octavo.http.reply import Reply
from octavo.http.undeclared import UndeclaredAnswer
from tests.http.asgi import ask, ask_json
from tests.http.shelf import KNOWN, NoteMade, Shelf, ShelfOperations, Shut, shelf_application

SHELF = f"/api/shelves/{KNOWN}"
PAGE = f"{SHELF}/pages/one"
READER = (b"x-reader", b"ann")
IF_MATCH = (b"if-match", b'"1"')


def act(result: Callable[[Call], object], *, strict: bool = True) -> Application:
    return shelf_application(ShelfOperations(acted=result), strict=strict)


def raising(error: BaseException) -> Callable[[Call], object]:
    def act(_: Call) -> object:
        raise error

    return act


def a_shelf(_: Call) -> Shelf:
    return Shelf(shelf_id=KNOWN, note_count=1)


@pytest.mark.parametrize(
    "error", [Shut("Come back."), ExceptionGroup("nursery", [Shut("Come back.")])], ids=repr
)
async def test_problem_raised_is_answered(error: Exception) -> None:
    answer = await ask(act(raising(error)), "POST", "/api/act")
    assert (answer.status, answer.code) == (409, "shut")
    assert answer.json()["detail"] == "Come back."


@pytest.mark.parametrize("error", [ClientLeft(), ExceptionGroup("n", [ClientLeft()])], ids=repr)
async def test_client_that_left_a_handler_gets_no_answer(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await ask(act(raising(error)), "POST", "/api/act")
    assert (answer.status, caplog.records) == (0, [])


def refused_by_pydantic(_: Call) -> object:
    return Shelf.model_validate({})


@pytest.mark.parametrize(
    "act_", [raising(RuntimeError("secret")), refused_by_pydantic], ids=["error", "validation"]
)
async def test_failure_of_a_handler_is_logged_once_and_tells_nothing(
    act_: Callable[[Call], object], caplog: pytest.LogCaptureFixture
) -> None:
    answer = await ask(act(act_), "POST", "/api/act")
    assert (answer.status, answer.code) == (500, "internal_error")
    assert "secret" not in answer.body.decode()
    assert [record.getMessage() for record in caplog.records] == ["request made-here failed"]
    assert caplog.records[0].exc_info is not None


UNDECLARED = [
    (raising(NotFound()), "act .* the problem 404 not_found", 404),
    (lambda _: Reply(a_shelf(_), status=203), "the status 203", 203),
    (lambda _: Reply(a_shelf(_), ((b"x-other", b"1"),)), "the header x-other", 200),
    (lambda _: NoteMade(text="x", by="y"), "a NoteMade", 200),
]


@pytest.mark.parametrize(("result", "what", "_"), UNDECLARED, ids=[row[1] for row in UNDECLARED])
async def test_undeclared_answer_fails_a_test(
    result: Callable[[Call], object], what: str, _: int
) -> None:
    with pytest.raises(UndeclaredAnswer, match=what):
        await ask(act(result), "POST", "/api/act")


@pytest.mark.parametrize(("result", "what", "status"), UNDECLARED, ids=[r[1] for r in UNDECLARED])
async def test_undeclared_answer_in_production_is_given_and_logged_once(
    result: Callable[[Call], object],
    what: str,
    status: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    application = act(result, strict=False)
    for _ in range(2):
        assert (await ask(application, "POST", "/api/act")).status == status
    [record] = caplog.records
    assert record.levelno == logging.ERROR


async def test_problem_that_the_declaration_implies_needs_no_declaring() -> None:
    answer = await ask_json(
        shelf_application(), "PUT", PAGE, {"text": "x" * 101}, [READER, IF_MATCH]
    )
    assert (answer.status, answer.code) == (413, "body_too_large")
