"""Proof Key for Code Exchange."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.oauth.rules.authorization_request import challenge_of, check_challenge, proves
from octavo.features.oauth.rules.refusal import OAuthRefusal

UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
VERIFIERS = st.text(UNRESERVED, min_size=43, max_size=128)


def test_example_of_the_standard() -> None:
    """RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert challenge_of(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    assert proves(verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")


@given(VERIFIERS, VERIFIERS)
def test_only_the_verifier_proves_its_challenge(verifier: str, other: str) -> None:
    challenge = check_challenge(challenge_of(verifier), "S256")
    assert proves(verifier, challenge)
    assert proves(other, challenge) == (other == verifier)


@pytest.mark.parametrize("verifier", ["", "a" * 42, "a" * 129, "a" * 42 + "é", "a" * 42 + "\n"])
def test_verifier_of_another_form_proves_nothing(verifier: str) -> None:
    assert not proves(verifier, challenge_of(verifier))


@pytest.mark.parametrize(
    ("challenge", "method", "fault"),
    [
        (None, None, "required"),
        (None, "S256", "required"),
        ("a" * 43, None, "S256"),
        ("a" * 43, "plain", "S256"),
        ("a" * 42, "S256", "43 characters"),
        ("a" * 42 + "=", "S256", "43 characters"),
    ],
)
def test_request_without_a_proper_challenge_is_refused(
    challenge: str | None, method: str | None, fault: str
) -> None:
    with pytest.raises(OAuthRefusal, match=fault) as refused:
        check_challenge(challenge, method)
    assert refused.value.code == "invalid_oauth_request"
