"""When consent to the legal documents is due."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.legal.api import required_documents
from octavo.features.legal.rules import ConsentDue, LegalText, LegalTexts
from octavo.model.access.account import Consent, Versions

VERSIONS = st.none() | st.sampled_from(["1", "2"])
ANY_VERSIONS = st.builds(Versions, VERSIONS, VERSIONS)
DOCUMENT = st.none() | st.sampled_from(["1", "2"]).map(lambda one: LegalText(one, "/"))
DOCUMENTS = st.builds(LegalTexts, DOCUMENT, DOCUMENT)


@given(DOCUMENTS)
def test_accepting_the_versions_in_force_makes_nothing_due(documents: LegalTexts) -> None:
    documents.require_current(documents.versions)
    assert not documents.due_from(Consent(documents.versions, 1))


@given(DOCUMENTS, ANY_VERSIONS)
def test_only_the_versions_in_force_can_be_accepted(
    documents: LegalTexts, versions: Versions
) -> None:
    if versions == documents.versions:
        documents.require_current(versions)
    else:
        with pytest.raises(ConsentDue) as refused:
            documents.require_current(versions)
        required = required_documents(documents).model_dump(by_alias=True)
        assert refused.value.members == {"required": required}


@given(DOCUMENTS)
def test_accepting_nothing_suffices_without_documents(documents: LegalTexts) -> None:
    if documents == LegalTexts():
        documents.require_current(None)
        assert not documents.due_from(None)
    else:
        with pytest.raises(ConsentDue):
            documents.require_current(None)
        assert documents.due_from(None)


@given(DOCUMENTS, ANY_VERSIONS)
def test_consent_is_due_when_a_named_document_has_another_version(
    documents: LegalTexts, accepted: Versions
) -> None:
    named = [(documents.terms, accepted.terms), (documents.privacy, accepted.privacy)]
    changed = any(document and document.version != version for document, version in named)
    assert documents.due_from(Consent(accepted, 1)) is changed


@given(DOCUMENTS)
def test_documents_are_complete_when_both_are_named(documents: LegalTexts) -> None:
    assert documents.complete is (None not in (documents.terms, documents.privacy))
