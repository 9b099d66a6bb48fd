"""The page of an invitation, as a browser without script uses it."""

from collections.abc import Mapping, Sequence

import pytest
from quart_trio import QuartTrio

from octavo.http.contract.problems import Header, InvalidRequest, NotFound
from octavo.http.pages import pages
from octavo.http.pages.register import Registering
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
        self.open = True

    async def opens(self, invitation: str) -> bool:
        if isinstance(self.problem, StoreUnavailable):
            raise self.problem
        return self.open

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
        registering=Registering(accounts.opens, accounts.register),
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
    assert (answer.status_code, answer.headers["set-cookie"]) == (303, "a=b")
    assert accounts.asked == [GIVEN]
    done = await page(accounts).test_client().get(answer.headers["location"])
    assert done.status_code == 200
    assert "Welcome." in await done.get_data(as_text=True)


async def test_link_that_opens_nothing_says_so_before_anything_is_filled_in() -> None:
    accounts = Accounts()
    accounts.open = False
    answer = await page(accounts).test_client().get("/register?invitation=used")
    assert answer.status_code == 404
    assert "This invitation opens nothing." in await answer.get_data(as_text=True)


async def test_link_that_can_not_be_looked_up_says_so() -> None:
    accounts = Accounts(StoreUnavailable("locked"))
    answer = await page(accounts).test_client().get("/register?invitation=any")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


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
