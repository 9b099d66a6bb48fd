"""The contract of the identity operations."""

import re
from collections.abc import Mapping
from typing import cast

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from octavo.features.accounts.api.account import AccountOperations
from octavo.features.accounts.api.auth import AuthOperations, PasswordResetOperations
from octavo.features.accounts.api.keys import KeyOperations, SessionOperations
from octavo.features.administration.api.administration import (
    AdministrationOperations,
    AuditOperations,
)
from octavo.features.administration.api.installation import InstallationOperations
from octavo.features.administration.api.operator import OperatorOperations
from octavo.features.members.api.invitations import InvitationOperations
from octavo.features.members.api.registrations import RegistrationOperations
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.openapi import openapi_document
from octavo.http.contract.operation import Locked, Security
from octavo.service.registry import CONTRACT
from tests.project.source import ROOT

GROUPS = (
    AuthOperations,
    PasswordResetOperations,
    RegistrationOperations,
    AccountOperations,
    SessionOperations,
    KeyOperations,
    AdministrationOperations,
    AuditOperations,
    InstallationOperations,
    InvitationOperations,
    OperatorOperations,
)
AUTH_STATUSES = {400, 401, 403, 404, 413, 415, 429, 500}
OPERATIONS = {each.id: each for each in contract_of(GROUPS)}


@pytest.mark.parametrize(
    ("name", "place", "statuses"),
    [
        (
            "signInWithPassword",
            "POST /api/auth/sign-in/email",
            {200, 408, *AUTH_STATUSES},
        ),
        ("getAuthSession", "GET /api/auth/get-session", {200, *AUTH_STATUSES}),
        ("signOut", "POST /api/auth/sign-out", {200, 408, *AUTH_STATUSES}),
        (
            "requestPasswordReset",
            "POST /api/auth/request-password-reset",
            {200, 408, *AUTH_STATUSES},
        ),
        ("resetPassword", "POST /api/auth/reset-password", {200, 408, *AUTH_STATUSES}),
        (
            "changePassword",
            "POST /api/auth/change-password",
            {200, 408, 409, 423, *AUTH_STATUSES},
        ),
        (
            "registerAccount",
            "POST /api/registrations",
            {201, 408, 409, *AUTH_STATUSES},
        ),
        ("getAccount", "GET /api/account", {200, 400, 401, 403, 500}),
        (
            "updateOwnAccount",
            "PATCH /api/account",
            {200, 400, 401, 403, 408, 409, 413, 415, 423, 500},
        ),
        (
            "updatePreferences",
            "PUT /api/account/preferences",
            {200, 400, 401, 403, 408, 409, 413, 415, 423, 500},
        ),
        (
            "removeOwnAccount",
            "POST /api/account/removal",
            {200, 400, 401, 403, 408, 409, 413, 415, 429, 500},
        ),
        (
            "acceptLegalDocuments",
            "POST /api/account/consent",
            {200, 400, 401, 403, 408, 409, 413, 415, 500},
        ),
        (
            "openAccountPortal",
            "POST /api/account/portal",
            {200, 400, 401, 403, 404, 408, 413, 415, 500},
        ),
        ("getInstallation", "GET /api/installation", {200, 400, 401, 403, 409, 423, 500}),
        (
            "updateInstallation",
            "PUT /api/installation",
            {200, 400, 401, 403, 408, 409, 413, 415, 423, 500},
        ),
        (
            "redeemPortalToken",
            "POST /api/operator/portal/redeem",
            {200, 400, 401, 404, 408, 413, 415, 429, 500},
        ),
        ("listAccounts", "GET /api/accounts", {200, 400, 401, 403, 409, 423, 500}),
        ("readAccount", "GET /api/accounts/{accountId}", {200, 400, 401, 403, 404, 409, 423, 500}),
        (
            "updateAccount",
            "PATCH /api/accounts/{accountId}",
            {200, 400, 401, 403, 404, 408, 409, 413, 415, 423, 500},
        ),
        (
            "removeAccount",
            "DELETE /api/accounts/{accountId}",
            {200, 400, 401, 403, 404, 409, 423, 500},
        ),
        ("listAuditEntries", "GET /api/audit", {200, 400, 401, 403, 409, 423, 500}),
        (
            "createInvitation",
            "POST /api/invitations",
            {201, 400, 401, 403, 404, 408, 409, 413, 415, 423, 429, 500},
        ),
        ("listInvitations", "GET /api/invitations", {200, 400, 401, 403, 409, 423, 500}),
        (
            "revokeInvitation",
            "DELETE /api/invitations/{invitationId}",
            {200, 400, 401, 403, 404, 409, 423, 500},
        ),
        (
            "acceptInvitation",
            "POST /api/invitations/accept",
            {200, 400, 401, 403, 404, 408, 409, 413, 415, 423, 500},
        ),
        ("findOperatorAccount", "GET /api/operator/accounts", {200, 400, 401, 404, 429, 500}),
        (
            "readOperatorAccount",
            "GET /api/operator/accounts/{accountId}",
            {200, 400, 401, 404, 429, 500},
        ),
        (
            "setOperatorAccountControls",
            "PATCH /api/operator/accounts/{accountId}/controls",
            {200, 400, 401, 404, 408, 409, 413, 415, 429, 500},
        ),
        (
            "removeOperatorAccount",
            "DELETE /api/operator/accounts/{accountId}",
            {200, 400, 401, 404, 409, 429, 500},
        ),
        ("listSessions", "GET /api/account/sessions", {200, 400, 401, 403, 500}),
        (
            "revokeSession",
            "DELETE /api/account/sessions/{sessionId}",
            {200, 400, 401, 403, 404, 500},
        ),
        (
            "revokeOtherSessions",
            "POST /api/account/sessions/revoke-others",
            {200, 400, 401, 403, 409, 423, 500},
        ),
        ("listApiKeys", "GET /api/account/keys", {200, 400, 401, 403, 500}),
        (
            "createApiKey",
            "POST /api/account/keys",
            {201, 400, 401, 403, 408, 409, 413, 415, 423, 429, 500},
        ),
        ("revokeApiKey", "DELETE /api/account/keys/{keyId}", {200, 400, 401, 403, 404, 500}),
    ],
)
def test_operation_is_declared_as_specified(name: str, place: str, statuses: set[int]) -> None:
    found = OPERATIONS[name]
    of_store = {503} if found.method == "GET" else {503, 507}
    assert f"{found.method} {found.path}" == place
    assert (
        found.statuses | {each.status for each in possible_problems(found)} == statuses | of_store
    )


def test_every_operation_of_the_tag_auth_declares_the_statuses_of_its_group() -> None:
    of_the_tag = {each.id: each for each in contract_of(CONTRACT) if each.tag == "auth"}
    assert set(of_the_tag) == {
        "changePassword",
        "getAuthSession",
        "registerAccount",
        "requestPasswordReset",
        "resetPassword",
        "signInWithPassword",
        "signOut",
    }
    declared = {
        name: {problem.status for problem in possible_problems(each)}
        for name, each in of_the_tag.items()
    }
    assert {name for name, found in declared.items() if not found >= AUTH_STATUSES} == set()


def test_operations_of_the_authentication_protocol_declare_no_security() -> None:
    without = {each.id for each in OPERATIONS.values() if each.security is Security.NONE}
    assert without == {
        "signInWithPassword",
        "getAuthSession",
        "signOut",
        "changePassword",
        "requestPasswordReset",
        "resetPassword",
        "registerAccount",
    }


def test_page_on_accounts_lists_what_a_locked_account_keeps() -> None:
    page = (ROOT / "docs/accounts.md").read_text()
    section = page.partition("### A locked account")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    declared = {
        each.id: each.locked
        for each in contract_of(CONTRACT)
        if each.security is Security.SESSION_OR_KEY
    }
    kept = {name for name, locked in declared.items() if locked is not Locked.REFUSED}
    # Whoever has a session can end it.
    assert listed == kept | {"signOut"}
    assert [name for name in kept if declared[name] is Locked.CONDITIONAL] == ["exportWorkspace"]
    paths = cast(
        Mapping[str, Mapping[str, Mapping[str, str]]],
        openapi_document(CONTRACT, title="Octavo", version="1")["paths"],
    )
    published = {
        each["operationId"]: each["x-locked-account"]
        for path in paths.values()
        for each in path.values()
        if "x-locked-account" in each
    }
    assert published == {name: locked.value for name, locked in declared.items()}


def test_document_of_the_operations_is_valid() -> None:
    described = openapi_document(GROUPS, title="Octavo", version="1")
    OpenAPIV31SpecValidator(described).validate()
