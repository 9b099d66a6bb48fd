"""Cases of legal documents, consent, the settings of the installation and the portal."""

from urllib.parse import parse_qs, urlsplit

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import newcomer
from tests.e2e.operations.world import CONSENT, PORTAL, World

TERMS = "/legal/terms"


@produces("getLegalDocument", "200")
def terms(world: World) -> httpx.Response:
    response = world.anybody("GET", TERMS)
    assert '<article class="prose">\n<h1 id="our-terms">Our terms</h1>' in response.text
    assert response.headers["cache-control"] == "private, no-cache"
    assert world.anybody("HEAD", TERMS).headers["etag"] == response.headers["etag"]
    return response


@produces("getLegalDocument", "304")
def terms_again(world: World) -> httpx.Response:
    known = {"if-none-match": world.anybody("GET", TERMS).headers["etag"]}
    return world.anybody("GET", TERMS, headers=known)


@produces("getLegalDocument", "not_found")
def notice_elsewhere(world: World) -> httpx.Response:
    return world.anybody("GET", "/legal/privacy")


def accept(world: World, headers: dict[str, str], **given: object) -> httpx.Response:
    body = {**CONSENT, **given}
    return world.anybody("POST", "/api/account/consent", json=body, headers=headers)


@produces("acceptLegalDocuments", "200")
def accepted(world: World) -> httpx.Response:
    _, headers = newcomer(world)
    return accept(world, headers)


@produces("acceptLegalDocuments", "consent_required")
def accepted_too_late(world: World) -> httpx.Response:
    response = accept(world, world.due.by_key, termsVersion="1")
    required = response.json()["required"]
    found = world.anybody("GET", "/api/account", headers=world.due.by_key).json()["consent"]
    assert found["required"] == required
    assert found["accepted"]["termsVersion"] == "1"
    assert required["privacyAddress"] == "https://elsewhere.example/privacy"
    assert urlsplit(required["termsAddress"]).path == TERMS
    return response


@produces("getInstallation", "200")
def installation(world: World) -> httpx.Response:
    response = world.ask("GET", "/api/installation")
    assert response.json() == {
        "registrationPolicy": "invitation",
        "lockedBy": None,
        "mailTransport": False,
        "legalDocuments": True,
    }
    return response


@produces("updateInstallation", "200")
def policy_chosen(world: World) -> httpx.Response:
    return world.ask("PUT", "/api/installation", json={"registrationPolicy": "invitation"})


@produces("updateInstallation", "setting_required")
def policy_opened_without_mail(world: World) -> httpx.Response:
    return world.ask("PUT", "/api/installation", json={"registrationPolicy": "open"})


def enter(world: World, headers: dict[str, str], page: str = "billing") -> httpx.Response:
    return world.anybody("POST", "/api/account/portal", json={"path": page}, headers=headers)


def redeem(world: World, opened: httpx.Response) -> httpx.Response:
    [token] = parse_qs(urlsplit(str(opened.json()["address"])).query)["token"]
    path = "/api/operator/portal/redeem"
    return world.anybody("POST", path, json={"token": token}, headers=world.operator)


@produces("openAccountPortal", "200")
def portal_opened(world: World) -> httpx.Response:
    for person in (world.locked, world.due):
        assert redeem(world, enter(world, person.by_key)).json()["id"] == person.account_id
    response = enter(world, world.reader.by_key)
    assert response.json()["address"].startswith(f"{PORTAL}&token=")
    return response


@produces("openAccountPortal", "not_found")
def other_page_opened(world: World) -> httpx.Response:
    return enter(world, world.reader.by_key, "other")


@produces("redeemPortalToken", "200")
def token_redeemed(world: World) -> httpx.Response:
    opened = enter(world, world.stranger.by_key)
    response = redeem(world, opened)
    assert response.json()["address"] == world.stranger.address
    assert redeem(world, opened).status_code == 404
    return response
