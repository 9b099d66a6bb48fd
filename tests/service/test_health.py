"""Liveness and readiness, as operations of the contract."""

import pytest

from octavo.http.contract.application import Application
from octavo.http.refusals import problem_of
from octavo.service.health import Readiness, Requirement, ServiceOperations
from tests.fakes.asgi_client import ask

MET = Requirement("configuration", met=True, detail="The settings are complete.")
UNMET = Requirement("database", met=False, detail="The database does not answer.")

OPTIONAL = Requirement("store", met=False, detail="The store does not respond.", optional=True)


def service(*requirements: Requirement, stopping: bool = False) -> Application:
    async def look() -> Readiness:
        return Readiness(requirements, stopping=stopping)

    return Application(
        [ServiceOperations(look)],
        failure_problem=problem_of,
        new_id=lambda: "made-here",
        log_request=lambda _: None,
        strict=True,
    )


@pytest.mark.parametrize("path", ["/health", "/api/health"])
@pytest.mark.parametrize("application", [service(MET), service(UNMET, stopping=True)])
async def test_health_is_alive_whatever_the_readiness(path: str, application: Application) -> None:
    response = await ask(application, "GET", path)
    assert (response.status, response.body) == (200, b'{"status":"alive"}')
    assert response.header("content-type") == "application/json"
    assert response.header("cache-control") == "no-store"


@pytest.mark.parametrize("path", ["/ready", "/api/ready"])
@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("", {"detail": "The settings are complete."}),
        ("?detail=full", {"detail": "The settings are complete."}),
        ("?detail=summary", {}),
    ],
)
async def test_readiness_ready_lists_the_requirements(
    path: str, query: str, detail: dict[str, str]
) -> None:
    response = await ask(service(MET), "GET", path + query)
    requirement = {"name": "configuration", "met": True, **detail}
    assert (response.status, response.json()) == (
        200,
        {"status": "ready", "requirements": [requirement]},
    )


@pytest.mark.parametrize("path", ["/ready", "/api/ready"])
@pytest.mark.parametrize(
    ("application", "reason"),
    [
        (service(MET, UNMET), "requirement"),
        (service(MET, stopping=True), "stopping"),
        (service(UNMET, stopping=True), "stopping"),
    ],
)
async def test_readiness_not_ready_is_a_problem_with_the_reason(
    path: str, application: Application, reason: str
) -> None:
    response = await ask(application, "GET", path)
    assert (response.status, response.code) == (503, "not_ready")
    assert response.header("retry-after") == "5"
    assert reason in response.json()["detail"]


@pytest.mark.parametrize(
    ("query", "detail"),
    [("", {"detail": "The database does not answer."}), ("?detail=summary", {})],
)
async def test_readiness_not_ready_lists_the_requirements(
    query: str, detail: dict[str, str]
) -> None:
    response = await ask(service(UNMET), "GET", f"/ready{query}")
    assert response.json()["requirements"] == [{"name": "database", "met": False, **detail}]


@pytest.mark.parametrize("query", ["detail=more", "detail=full&detail=full", "other=1", "detail="])
async def test_readiness_other_query_is_refused(query: str) -> None:
    response = await ask(service(MET), "GET", f"/ready?{query}")
    assert (response.status, response.code) == (400, "invalid_request")


async def test_health_query_is_refused() -> None:
    response = await ask(service(MET), "GET", "/health?detail=full")
    assert (response.status, response.code) == (400, "invalid_request")


async def test_readiness_does_not_need_what_is_optional() -> None:
    response = await ask(service(MET, OPTIONAL), "GET", "/ready?detail=summary")
    assert (response.status, response.json()) == (
        200,
        {
            "status": "ready",
            "requirements": [
                {"name": "configuration", "met": True},
                {"name": "store", "met": False, "optional": True},
            ],
        },
    )
