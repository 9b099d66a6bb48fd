"""Entries of the audit contain identifiers and codes only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId

from octavo.model.access.audit import (
    KINDS,
    LONGEST_CODE,
    SERVICES,
    AuditEntry,
    AuditId,
    Detail,
    account_of,
    service_of,
)

ANN = AccountId("01900000-0000-7000-8000-000000000001")


def entry(detail: Detail) -> AuditEntry:
    return AuditEntry(AuditId(ANN), 0, "command", detail=detail)


def test_kinds_are_in_alphabetical_order_and_distinct() -> None:
    assert list(KINDS) == sorted(set(KINDS))


@pytest.mark.parametrize(
    "value", [ANN, "last_administrator", "x" * LONGEST_CODE, 0, True, None, "owner"]
)
def test_identifiers_codes_and_numbers_are_recorded(value: str | int | None) -> None:
    assert entry({"code": value}).detail == {"code": value}


@pytest.mark.parametrize(
    "text", ["", "ann@example.org", "two words", "x" * (LONGEST_CODE + 1), "Zoë", "a\n"]
)
def test_other_texts_are_not_recorded(text: str) -> None:
    with pytest.raises(ValueError, match="neither an identifier nor a code"):
        entry({"code": text})


@pytest.mark.parametrize("name", ["", "Code", "a_b", "a b", "x" * 33])
def test_names_of_details_are_in_camel_case(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a detail"):
        entry({name: 1})


@given(st.uuids().map(str).map(AccountId))
def test_an_actor_is_an_account_or_a_service(account_id: AccountId) -> None:
    assert (account_of(account_id), service_of(account_id)) == (account_id, None)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_no_account(service: str) -> None:
    assert (account_of(AccountId(service)), service_of(AccountId(service))) == (None, service)


def test_an_unknown_actor_is_neither() -> None:
    assert (account_of(None), service_of(None)) == (None, None)
