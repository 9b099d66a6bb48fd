"""The order in which listeners learn of what was committed."""

from collections.abc import Callable

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.after_commit import AfterCommit

ANN, VAULT = AccountId("ann"), WorkspaceId("vault")


def heard_by_listeners(after: AfterCommit) -> list[tuple[str, str]]:
    """What the listeners hear, in its order."""
    heard: list[tuple[str, str]] = []

    def listener(name: str) -> Callable[[str], None]:
        return lambda subject: heard.append((name, subject))

    after.account_changed.listen(listener("account"))
    after.workspace_changed.listen(listener("members"), listener("members, too"))
    after.workspace_changed.listen(listener("members, later"))
    after.workspace_gone.listen(listener("gone"))
    after.erased.listen(lambda: heard.append(("erased", "")))
    return heard


MEMBERS = [("members", VAULT), ("members, too", VAULT), ("members, later", VAULT)]


def test_members_have_changed_before_a_workspace_is_gone() -> None:
    after = AfterCommit()
    heard = heard_by_listeners(after)
    after.deleted(VAULT)
    assert heard == [*MEMBERS, ("gone", VAULT), ("erased", "")]


def test_access_changes_in_a_workspace_or_in_none() -> None:
    after = AfterCommit()
    heard = heard_by_listeners(after)
    after.access_changed(ANN, VAULT)
    after.access_changed(ANN, None)
    assert heard == [*MEMBERS, ("account", ANN), ("account", ANN)]
