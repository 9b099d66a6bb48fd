"""The rights of members."""

import pytest

from octavo.model.workspace import Right, Role, grants

RIGHTS: list[Right] = ["read", "write", "manage", "own"]


@pytest.mark.parametrize(
    ("role", "count"), [("reader", 1), ("editor", 2), ("administrator", 3), ("owner", 4)]
)
def test_each_role_has_the_rights_of_those_below_it(role: Role, count: int) -> None:
    assert [right for right in RIGHTS if grants(role, right)] == RIGHTS[:count]
