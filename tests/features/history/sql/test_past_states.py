"""The files of a workspace at a past position, and the position at a moment."""

from collections.abc import AsyncIterator

import pytest
from octavo_rules.identity import Position, WorkspaceId

from octavo.features.history.sql import past_states
from tests.fakes.notebook import Notebook
from tests.fakes.stores import open_inline

VAULT = WorkspaceId("vault")


@pytest.fixture
async def notebook() -> AsyncIterator[Notebook]:
    engine = open_inline()
    yield await Notebook(engine, VAULT).open()
    engine.close()


async def test_position_at_a_moment_is_that_of_the_last_changeset_until_then(
    notebook: Notebook,
) -> None:
    await notebook.write("a", "one")
    await notebook.write("b", "two")
    moment = notebook.heads["b"].created_at
    await notebook.write("b", "three")
    for at, position in ((moment - 1, 1), (moment, 2)):
        found = await notebook.store.read(past_states.position_at(VAULT, at))
        assert found is not None
        assert (found.position, found.present) == (position, 3)


async def test_files_that_were_deleted_before_hold_no_path(notebook: Notebook) -> None:
    for file in "abc":
        await notebook.write(file, "one")
    await notebook.delete("c")
    await notebook.write("a", "two")
    states = await notebook.store.read(past_states.states_since(VAULT, Position(4)))
    assert states.others == ["b.md"]
    [changed] = states.changed
    assert changed.past is not None
    assert (changed.head.position, changed.past.position) == (5, 1)


async def test_position_is_followed_by_the_first_change_of_any_file(notebook: Notebook) -> None:
    times = []
    for file in "abab":
        await notebook.write(file, "text")
        times.append(notebook.heads[file].created_at)
    for position, changed_at in enumerate([*times, None]):
        found = await notebook.store.read(past_states.past_position(VAULT, Position(position)))
        assert found == (position, 4, changed_at)
