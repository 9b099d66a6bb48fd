"""The page of an invitation, as a browser without script uses it."""

from collections.abc import Mapping, Sequence

import pytest
from quart_trio import QuartTrio

from octavo.http.pages import pages
from octavo.http.problems import Header, InvalidRequest, NotFound
from octavo.store import StoreUnavailable

GIVEN = {
    "invitation": "secret-token",
    "address": "ann@example.org",
    "displayName": '<b>Ann</b> "A"',
    "password": "tulips on the moon",
}


class Accounts:
    """Makes accounts, or refuses to."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem
        self.asked: list[Mapping[str, str]] = []

    async def register(
        self, form: Mapping[str, str], headers: Sequence[Header], client: str | None
    ) -> Header:
        self.asked.append(form)
        if self.problem is not None:
            raise self.problem
        return (b"set-cookie", b"a=b")


def page(accounts: Accounts) -> QuartTrio:
    return pages(
        api_document="/api/openapi.json",
        contract={"openapi": "3.1.0", "paths": {}},
        register=accounts.register,
    )


async def test_form_holds_the_invitation_of_the_link() -> None:
    answer = await page(Accounts()).test_client().get('/register?invitation=a"b')
    text = await answer.get_data(as_text=True)
    assert answer.status_code == 200
    assert 'name="invitation" value="a&#34;b"' in text
    assert "needs an invitation" not in text
    assert "<script" not in text


async def test_form_without_an_invitation_says_so() -> None:
    answer = await page(Accounts()).test_client().get("/register")
    assert "needs an invitation" in await answer.get_data(as_text=True)


async def test_sent_form_makes_the_account_and_signs_in() -> None:
    accounts = Accounts()
    answer = await page(accounts).test_client().post("/register", form=GIVEN)
    assert (answer.status_code, answer.headers["set-cookie"]) == (201, "a=b")
    assert "Welcome, &lt;b&gt;Ann" in await answer.get_data(as_text=True)
    assert accounts.asked == [GIVEN]


@pytest.mark.parametrize(
    ("problem", "status", "told"),
    [
        (NotFound("That is no invitation."), 404, "That is no invitation."),
        (StoreUnavailable("locked"), 503, "can&#39;t be used now"),
        (InvalidRequest(errors=[("/password", "Too easily guessed.")]), 400, "Too easily guessed."),
    ],
)
async def test_refused_form_says_why_and_keeps_all_but_the_password(
    problem: Exception, status: int, told: str
) -> None:
    answer = await page(Accounts(problem)).test_client().post("/register", form=GIVEN)
    text = await answer.get_data(as_text=True)
    assert answer.status_code == status
    assert told in text
    assert 'value="ann@example.org"' in text
    assert "&lt;b&gt;Ann&lt;/b&gt; &#34;A&#34;" in text
    assert GIVEN["password"] not in text
