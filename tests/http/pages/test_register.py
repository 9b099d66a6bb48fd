"""The page of an invitation, as a browser without scripts uses it."""

import re
from collections.abc import Mapping, Sequence

import pytest
from quart_trio import QuartTrio

from octavo.http.api.service import ServiceOperations
from octavo.http.contract.openapi import document
from octavo.http.contract.problems import (
    ConsentRequired,
    Header,
    InvalidRequest,
    NotFound,
    RateLimited,
    WrongOrigin,
)
from octavo.http.pages import Registering, pages
from octavo.model.accounts.consent import NO_DOCUMENTS, LegalDocument, LegalDocuments
from octavo.store import StoreUnavailable
from tests.fakes.page_reader import no_entropy, no_time, nobody

PUBLIC = "https://notes.example.org"
GIVEN = {
    "invitation": "secret-token",
    "address": "ann@example.org",
    "displayName": '<b>Ann</b> "A"',
    "password": "tulips on the moon",
}


class Accounts:
    """Creates accounts, or refuses to."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem
        self.asked: list[Mapping[str, str]] = []
        self.open = True
        self.open_to_all = False

    async def opens(self, invitation: str) -> bool:
        if isinstance(self.problem, StoreUnavailable):
            raise self.problem
        return self.open if invitation else self.open_to_all

    async def register(
        self, form: Mapping[str, str], headers: Sequence[Header], client: str | None
    ) -> Header:
        self.asked.append(form)
        if self.problem is not None:
            raise self.problem
        return (b"set-cookie", b"a=b")


def page(accounts: Accounts, legal: LegalDocuments = NO_DOCUMENTS) -> QuartTrio:
    return pages(
        api_document="/api/openapi.json",
        contract=document([ServiceOperations], title="Octavo", version="1"),
        public_url=PUBLIC,
        perform=nobody,
        now=no_time,
        new_entropy=no_entropy,
        registering=Registering(accounts.opens, accounts.register, legal),
    )


async def test_form_has_the_invitation_of_the_link() -> None:
    response = await page(Accounts()).test_client().get('/register?invitation=a"b')
    text = await response.get_data(as_text=True)
    assert response.status_code == 200
    assert 'name="invitation" value="a&#34;b"' in text
    assert "needs an invitation" not in text
    assert "<script" not in text


async def test_page_without_an_invitation_has_no_form_and_a_remedy() -> None:
    response = await page(Accounts()).test_client().get("/register")
    text = await response.get_data(as_text=True)
    assert response.status_code == 200
    assert "You need an invitation" in text
    assert "Open the complete link that you received" in text
    assert "<form" not in text


@pytest.mark.parametrize(
    ("host", "expected"), [("notes.example.org", False), ("192.168.1.9:8080", True)]
)
async def test_form_at_another_host_links_to_the_public_address(host: str, expected: bool) -> None:
    client = page(Accounts()).test_client()
    response = await client.get("/register?invitation=a%2Fb", headers={"host": host})
    text = await response.get_data(as_text=True)
    assert "<form" in text
    assert (f'href="{PUBLIC}/register?invitation=a%2Fb">{PUBLIC}</a>' in text) is expected


async def test_form_sent_from_another_address_links_to_the_public_one() -> None:
    response = await page(Accounts(WrongOrigin())).test_client().post("/register", form=GIVEN)
    text = await response.get_data(as_text=True)
    assert response.status_code == 403
    assert f'href="{PUBLIC}/register?invitation=secret-token"' in text
    assert f"This installation is used at {PUBLIC}" in text
    assert "<form" not in text
    assert GIVEN["password"] not in text


async def test_sent_form_creates_the_account_and_signs_in() -> None:
    accounts = Accounts()
    response = await page(accounts).test_client().post("/register", form=GIVEN)
    assert (response.status_code, response.headers["set-cookie"]) == (303, "a=b")
    assert accounts.asked == [GIVEN]
    done = await page(accounts).test_client().get(response.headers["location"])
    assert done.status_code == 200
    assert "Welcome." in await done.get_data(as_text=True)


async def test_invalid_link_has_no_form_and_a_remedy() -> None:
    accounts = Accounts()
    accounts.open = False
    response = await page(accounts).test_client().get("/register?invitation=used")
    text = await response.get_data(as_text=True)
    assert response.status_code == 404
    assert "This invitation can&#39;t be used" in text
    assert "ask the person who invited you for a new link" in text
    assert "<form" not in text


async def test_form_whose_invitation_was_used_meanwhile_shows_a_remedy() -> None:
    accounts = Accounts(NotFound("opens nothing"))
    accounts.open = False
    response = await page(accounts).test_client().post("/register", form=GIVEN)
    text = await response.get_data(as_text=True)
    assert response.status_code == 404
    assert "This invitation can&#39;t be used" in text
    assert "<form" not in text


async def test_form_with_a_malformed_invitation_has_no_form() -> None:
    problem = InvalidRequest(errors=[("/invitation", "too long")])
    response = await page(Accounts(problem)).test_client().post("/register", form=GIVEN)
    assert (response.status_code, "<form" in await response.get_data(as_text=True)) == (400, False)


async def test_faults_are_summarized_and_the_first_wrong_field_has_the_focus() -> None:
    faults = InvalidRequest(errors=[("/displayName", "Too long."), ("/password", "Too short.")])
    response = await page(Accounts(faults)).test_client().post("/register", form=GIVEN)
    text = await response.get_data(as_text=True)
    assert re.findall('<li><a href="#([a-zA-Z]+)">', text) == ["displayName", "password"]
    assert re.findall('<input id="([a-zA-Z]+)".* autofocus>', text) == ["displayName"]
    assert re.findall('<input id="([a-zA-Z]+)".* aria-invalid="true"', text) == [
        "displayName",
        "password",
    ]


async def test_link_that_cannot_be_looked_up_says_so() -> None:
    accounts = Accounts(StoreUnavailable("locked"))
    response = await page(accounts).test_client().get("/register?invitation=any")
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) > 0
    assert "An invitation stays valid." in await response.get_data(as_text=True)


@pytest.mark.parametrize(
    ("problem", "status", "expected"),
    [
        (NotFound("opens nothing"), 404, "This invitation is not for this e-mail address."),
        (RateLimited("Wait.", retry_after=7), 429, "Wait."),
        (StoreUnavailable("locked"), 503, "can&#39;t be used now"),
        (InvalidRequest(errors=[("/password", "Too easily guessed.")]), 400, "Too easily guessed."),
    ],
)
async def test_refused_form_shows_the_reason_and_keeps_all_but_the_password(
    problem: Exception, status: int, expected: str
) -> None:
    response = await page(Accounts(problem)).test_client().post("/register", form=GIVEN)
    text = await response.get_data(as_text=True)
    assert response.status_code == status
    assert expected in text
    assert 'value="ann@example.org"' in text
    assert "&lt;b&gt;Ann&lt;/b&gt; &#34;A&#34;" in text
    assert GIVEN["password"] not in text


LEGAL = LegalDocuments(
    LegalDocument('1 "draft"', f"{PUBLIC}/legal/terms"),
    LegalDocument("2", "https://elsewhere.example/privacy?a=1&b=2"),
)


async def test_form_without_documents_asks_for_no_consent() -> None:
    response = await page(Accounts()).test_client().get("/register?invitation=a")
    assert "checkbox" not in await response.get_data(as_text=True)


async def test_form_links_to_the_documents_and_requires_consent() -> None:
    response = await page(Accounts(), LEGAL).test_client().get("/register?invitation=a")
    text = await response.get_data(as_text=True)
    assert 'name="termsVersion" value="1 &#34;draft&#34;"' in text
    assert 'name="privacyVersion" value="2"' in text
    assert f'href="{PUBLIC}/legal/terms"' in text
    assert 'href="https://elsewhere.example/privacy?a=1&amp;b=2"' in text
    assert re.search('<input id="accept" name="accept" type="checkbox" value="on" required>', text)


@pytest.mark.parametrize(
    ("legal", "words"),
    [
        (LegalDocuments(LEGAL.terms), "terms</a>."),
        (LegalDocuments(None, LEGAL.privacy), "privacy notice</a>."),
    ],
)
async def test_form_names_the_only_document(legal: LegalDocuments, words: str) -> None:
    response = await page(Accounts(), legal).test_client().get("/register?invitation=a")
    text = await response.get_data(as_text=True)
    assert words in text
    assert text.count('target="_blank"') == 1


async def test_consent_is_given_by_the_checkbox_only() -> None:
    accounts = Accounts()
    client = page(accounts, LEGAL).test_client()
    versions = {"termsVersion": "1", "privacyVersion": "2"}
    await client.post("/register", form={**GIVEN, **versions, "accept": "on"})
    await client.post("/register", form={**GIVEN, **versions})
    assert accounts.asked == [{**GIVEN, **versions}, GIVEN]


async def test_missing_consent_shows_the_form_with_the_versions_in_force() -> None:
    client = page(Accounts(ConsentRequired()), LEGAL).test_client()
    response = await client.post("/register", form={**GIVEN, "privacyVersion": "1"})
    text = await response.get_data(as_text=True)
    assert response.status_code == 409
    assert "accept the documents below in their present version" in text
    assert 'name="privacyVersion" value="2"' in text


async def test_page_without_an_invitation_has_the_form_under_an_open_policy() -> None:
    accounts = Accounts()
    accounts.open_to_all = True
    client = page(accounts).test_client()
    response = await client.get("/register", headers={"host": "other.example"})
    text = await response.get_data(as_text=True)
    assert 'name="invitation" value=""' in text
    assert f'href="{PUBLIC}/register">{PUBLIC}</a>' in text


async def test_page_without_an_invitation_says_so_when_the_policy_closes() -> None:
    client = page(Accounts(NotFound())).test_client()
    response = await client.post("/register", form={**GIVEN, "invitation": ""})
    assert "You need an invitation" in await response.get_data(as_text=True)
