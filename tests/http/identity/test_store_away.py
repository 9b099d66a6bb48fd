"""What identity answers while the database is away."""

from collections.abc import Iterator

import pytest

from tests.accounts.house import house
from tests.http.identity.front import FROM_HERE, Front, bearer, cookie

TOKEN = "x" * 43
KEY = "octk_CTQj2uNU3MFagCXG9LRKRcwGkBIDlf4OAHfL"


@pytest.fixture
def front() -> Iterator[Front]:
    with house() as made:
        made.store.away = True
        yield Front(made)


async def test_operations_of_the_protocol_answer_that_with_a_message(front: Front) -> None:
    answers = [
        await front.sign_in(),
        await front.get("/api/auth/get-session", cookie(TOKEN)),
        await front.post("/api/auth/sign-out", {}, cookie(TOKEN), FROM_HERE),
    ]
    for answer in answers:
        assert (answer.status, answer.code) == (503, "storage_unavailable")
        assert answer.json()["message"] == answer.json()["detail"]
        assert answer.header("retry-after")


async def test_registration_answers_that(front: Front) -> None:
    answer = await front.register(TOKEN)
    assert (answer.status, answer.code) == (503, "storage_unavailable")


@pytest.mark.parametrize("credential", [cookie(TOKEN), bearer(KEY)])
async def test_credentials_are_not_refused_for_it(
    front: Front, credential: tuple[bytes, bytes]
) -> None:
    answer = await front.get("/api/account", credential)
    assert (answer.status, answer.code) == (503, "storage_unavailable")
