"""How much of a restoration is tried at once, and what is tried last."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import FileId, Position

from octavo.features.history.rules.restoration import BatchSizes, Begun, RestorationPace, batches
from octavo.features.history.rules.reversion import Reversion
from octavo.model.files.changeset import MAX_OPERATIONS
from tests.fakes.restored_workspace import OURS, SMALL, Workspace, needed, revision, workspaces

FILES = tuple(map(FileId, "abcdef"))
names = st.lists(st.sampled_from(FILES), min_size=1, unique=True)
# The files of a changeset that was refused; None for one that was accepted.
histories = st.lists(st.none() | names)


def pace_after(history: Sequence[Sequence[FileId] | None]) -> RestorationPace:
    pace = RestorationPace()
    for refused in history:
        pace = pace.after_commit() if refused is None else pace.after_refusal(refused)
    return pace


def reversions(files: Sequence[FileId]) -> list[Reversion]:
    return [Reversion(revision(each, f"{each}.md"), None) for each in files]


@given(histories, names)
def test_changeset_after_a_refusal_has_at_most_half_as_many_files(
    history: Sequence[Sequence[FileId] | None], refused: Sequence[FileId]
) -> None:
    before = pace_after(history)
    after = before.after_refusal(refused)
    assert 1 <= after.most <= max(1, before.most // 2)
    assert after.most <= max(1, len(refused) // 2)


@given(histories)
def test_changeset_after_an_accepted_one_has_up_to_twice_as_many_files(
    history: Sequence[Sequence[FileId] | None],
) -> None:
    before = pace_after(history)
    assert before.after_commit().most == min(2 * before.most, MAX_OPERATIONS)


def test_refusals_lead_to_one_file_and_accepted_changesets_back_to_the_most() -> None:
    pace = RestorationPace()
    files = [FileId(str(at)) for at in range(MAX_OPERATIONS)]
    sizes = []
    for _ in range(8):
        pace = pace.after_refusal(files[: pace.most])
        sizes.append(pace.most)
    assert sizes == [250, 125, 62, 31, 15, 7, 3, 1]
    for _ in range(9):
        pace = pace.after_commit()
    assert pace == RestorationPace()


@given(histories, names)
def test_what_was_refused_alone_is_tried_last(
    history: Sequence[Sequence[FileId] | None], refused: Sequence[FileId]
) -> None:
    pace = pace_after(history)
    alone = refused[0]
    last = pace.after_refusal([alone]).last
    assert last == (*(each for each in pace.last if each != alone), alone)
    assert pace.after_refusal(refused).most > 1 or {*pace.last} <= {*last}


def test_files_are_not_tried_last_that_can_be_tried_apart() -> None:
    assert RestorationPace().after_refusal(FILES).after_commit().last == ()


@given(names, names)
def test_files_that_are_tried_last_return_in_this_order(
    pending: Sequence[FileId], last: Sequence[FileId]
) -> None:
    found = batches(reversions(pending), BatchSizes(1, 1), RestorationPace(1, tuple(last)))
    assert [batch[0].head.file_id for batch in found] == [
        *(each for each in pending if each not in last),
        *(each for each in last if each in pending),
    ]


@given(workspaces(), st.data())
def test_changesets_are_no_larger_than_the_pace_but_for_circles(
    workspace: Workspace, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, workspace.position))
    sizes = data.draw(st.sampled_from((SMALL, BatchSizes(), BatchSizes(1, 1))))
    most = data.draw(st.integers(1, 5))
    pending = workspace.restoration(position).pending
    apart = {
        frozenset(each.head.file_id for each in one)
        for one in batches(pending, sizes, RestorationPace(1))
    }
    for batch in batches(pending, sizes, RestorationPace(most)):
        assert len(batch) <= most or frozenset(each.head.file_id for each in batch) in apart


@given(workspaces(), st.data())
def test_files_return_that_need_none_whose_changesets_are_refused_each_time(
    workspace: Workspace, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, workspace.position))
    begun = Begun(Position(workspace.position), frozenset({OURS}))
    pending = workspace.restoration(position, "", begun).pending
    files = [each.head.file_id for each in pending]
    disturbed = {*data.draw(st.lists(st.sampled_from(files)))} if files else set[FileId]()
    stuck = disturbed.union(
        file_id for file_id, needs in needed(pending).items() if needs & disturbed
    )
    pace, refusals = RestorationPace(), 0
    while {each.head.file_id for each in pending} - stuck:
        batch = batches(pending, pace=pace)[0]
        files = [each.head.file_id for each in batch]
        if disturbed.isdisjoint(files):
            workspace.apply(batch)
            pace, refusals = pace.after_commit(), 0
        else:
            pace, refusals = pace.after_refusal(files), refusals + 1
        assert refusals <= 4 + len(disturbed), "no changeset is accepted any more"
        pending = workspace.restoration(position, "", begun).pending
    assert {each.head.file_id for each in pending} == stuck
