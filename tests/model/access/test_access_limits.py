"""The limits of keys and tokens."""

import pytest
from octavo_rules.identity import READ, WRITE, Scope, WorkspaceId

from octavo.model.access.account import AccessLimits, parse_scopes

ONE, TWO = WorkspaceId("one"), WorkspaceId("two")


def test_reading_is_part_of_every_scope() -> None:
    assert parse_scopes([WRITE]) == {READ, WRITE}
    assert parse_scopes([]) == {READ}


def test_unknown_scope_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'notes:burn': use notes:read or notes:write"):
        parse_scopes([READ, "notes:burn"])


@pytest.mark.parametrize(
    ("scopes", "workspaces", "folder", "fault"),
    [
        ([WRITE], None, None, "notes:read is part"),
        ([READ], [], None, "at least one workspace"),
        ([READ], None, "tea", "exactly one workspace"),
        ([READ], [ONE, TWO], "tea", "exactly one workspace"),
    ],
)
def test_limits_that_contradict_themselves_are_refused(
    scopes: list[Scope], workspaces: list[WorkspaceId] | None, folder: str | None, fault: str
) -> None:
    chosen = None if workspaces is None else frozenset(workspaces)
    with pytest.raises(ValueError, match=fault):
        AccessLimits(frozenset(scopes), chosen, folder)


def test_only_chosen_workspaces_exist() -> None:
    limits = AccessLimits(frozenset[Scope]({READ}), frozenset({ONE}))
    assert (limits.sees(ONE), limits.sees(TWO)) == (True, False)
    assert AccessLimits(frozenset[Scope]({READ})).sees(TWO)


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("tea/green.md", True),
        ("tea/japan/sencha.md", True),
        ("TEA/green.md", True),
        ("tea", False),
        ("teapot/one.md", False),
        ("other/tea/green.md", False),
        ("green.md", False),
    ],
)
def test_folder_covers_what_is_below_it(path: str, covered: bool) -> None:
    limits = AccessLimits(frozenset[Scope]({READ}), frozenset({ONE}), "tea")
    assert limits.covers(path) is covered


def test_without_a_folder_every_path_is_covered() -> None:
    assert AccessLimits(frozenset[Scope]({READ})).covers("any.md")
