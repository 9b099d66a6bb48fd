"""What an account is before its person changes it."""

from octavo.model.access.account import Preferences


def test_pages_follow_the_system_and_check_the_spelling_at_first() -> None:
    assert Preferences() == Preferences("paper", "system", spell_check=True)
