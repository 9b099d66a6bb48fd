"""The registration policy in force, and who may change it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.members.rules import (
    Prerequisites,
    RegistrationPolicy,
    SettingLocked,
    SettingRequired,
)

POLICY: st.SearchStrategy[RegistrationPolicy] = st.sampled_from(["invitation", "open"])
PREREQUISITES = st.builds(Prerequisites, st.none() | POLICY, st.booleans(), st.booleans())


@given(PREREQUISITES, POLICY)
def test_an_open_policy_is_in_force_only_with_what_it_requires(
    given: Prerequisites, chosen: RegistrationPolicy
) -> None:
    if given.effective(chosen) == "open":
        assert given.mail_transport
        assert given.legal_documents
        assert "open" in (given.policy, chosen)


@given(PREREQUISITES, POLICY)
def test_a_change_that_is_accepted_takes_effect(
    given: Prerequisites, chosen: RegistrationPolicy
) -> None:
    try:
        given.check_change(chosen)
    except SettingLocked:
        assert given.policy is not None
    except SettingRequired:
        assert chosen == "open"
        assert not (given.mail_transport and given.legal_documents)
    else:
        assert given.effective(chosen) == chosen


@pytest.mark.parametrize("chosen", ["invitation", "open"])
def test_the_settings_take_precedence(chosen: RegistrationPolicy) -> None:
    ready = {"mail_transport": True, "legal_documents": True}
    assert Prerequisites("open", **ready).effective(chosen) == "open"
    assert Prerequisites("invitation", **ready).effective(chosen) == "invitation"
    with pytest.raises(SettingLocked):
        Prerequisites("open", **ready).check_change(chosen)


@pytest.mark.parametrize(
    ("mail", "documents", "missing"),
    [
        (False, True, "requires a mail server in"),
        (True, False, "requires terms and a privacy notice in"),
        (False, False, "requires a mail server and terms and a privacy notice in"),
    ],
)
def test_refusal_names_what_is_missing(mail: bool, documents: bool, missing: str) -> None:
    prerequisites = Prerequisites(mail_transport=mail, legal_documents=documents)
    with pytest.raises(SettingRequired, match=missing):
        prerequisites.check_change("open")
