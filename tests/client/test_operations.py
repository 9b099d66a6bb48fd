"""Every operation against a real server: requests are understood, responses are typed."""

import gc
from datetime import UTC, datetime, timedelta
from random import SystemRandom
from typing import Any
from uuid import uuid4

import pytest
import trio
from octavo_client import (
    Client,
    Create,
    Delete,
    HeadMovedError,
    NotFoundError,
    NotSignedInError,
    ProblemError,
    Purge,
    Restore,
    Update,
    WorkspaceChanged,
    WorkspaceClient,
)
from octavo_rules.identity import START, MutationId

from tests.e2e.octavo_process import PUBLIC
from tests.e2e.people import PASSWORD, Person
from tests.e2e.server import PATIENCE

LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.mark.parametrize("url", ["localhost:8080", "notes.example.org", "http://", "ftp://a", ":"])
def test_url_of_no_server_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="the URL of the server"):
        Client(url, entropy=SystemRandom())


@pytest.mark.parametrize("key", ["", "octk_abc\n", "octk_a bc", "octk_\u00e9"])
def test_key_that_is_none_is_refused_without_its_text(key: str) -> None:
    with pytest.raises(ValueError, match="the key is empty, or has") as refused:
        Client("http://localhost", entropy=SystemRandom(), key=key)
    assert "octk" not in str(refused.value)


@pytest.mark.parametrize("user", ["ann:hidden@", ":hidden@", "ann@"])
def test_url_with_a_user_is_refused_without_the_password(user: str) -> None:
    with pytest.raises(ValueError, match="no user and no password") as refused:
        Client(f"https://{user}notes.example.org", entropy=SystemRandom())
    assert "hidden" not in str(refused.value)


async def test_session_opens_the_account_until_it_is_signed_out(
    served: tuple[str, Person],
) -> None:
    url, person = served
    async with Client(url, entropy=SystemRandom(), origin=PUBLIC) as client:
        with pytest.raises(NotSignedInError) as refused:
            await client.create_workspace("Nobody's")
        assert (refused.value.status, refused.value.code) == (401, "not_signed_in")
        await client.sign_in(person.address, PASSWORD)
        made = await client.create_workspace("By session")
        assert made.id in [each.id async for each in client.workspaces()]
        await client.sign_out()
        with pytest.raises(NotSignedInError):
            await client.create_workspace("Nobody's")


async def test_wrong_password_has_its_own_error(served: tuple[str, Person]) -> None:
    url, person = served
    async with Client(url, entropy=SystemRandom(), origin=PUBLIC) as client:
        with pytest.raises(NotSignedInError) as refused:
            await client.sign_in(person.address, "a wrong password")
    assert refused.value.code == "credential_refused"


async def test_new_key_authenticates_the_account(
    client: Client, served: tuple[str, Person]
) -> None:
    made = await client.create_key("another", LATER)
    assert made.expires_at is not None
    assert abs(made.expires_at - LATER) < timedelta(milliseconds=2)
    assert (made.scopes, made.workspace_ids, made.folder) == (None, None, None)
    async with Client(served[0], entropy=SystemRandom(), key=made.secret) as other:
        assert (await other.create_workspace("By key")).id


async def test_new_key_is_limited_to_what_was_chosen(
    client: Client, served: tuple[str, Person]
) -> None:
    chosen = await client.create_workspace("Chosen")
    await client.create_workspace("Not chosen")
    inside = await chosen.create("tea/a.md", "green")
    outside = await chosen.create("b.md", "black")
    made = await client.create_key(
        "reader", scopes=["notes:read"], workspace_ids=[chosen.id], folder="tea"
    )
    assert made.scopes == ("notes:read",)
    assert (made.workspace_ids, made.folder) == ((chosen.id,), "tea")
    async with Client(served[0], entropy=SystemRandom(), key=made.secret) as other:
        assert [each.id async for each in other.workspaces()] == [chosen.id]
        limited = other.workspace(chosen.id)
        assert (await limited.file(inside.file_id)).text == "green"
        with pytest.raises(NotFoundError):
            await limited.file(outside.file_id)
        with pytest.raises(ProblemError) as refused:
            await limited.create("tea/c.md", "white")
        assert (refused.value.status, refused.value.code) == (403, "insufficient_scope")


@pytest.mark.parametrize(
    "limits", [{"folder": "tea"}, {"scopes": []}, {"scopes": ["notes:read"], "folder": "tea"}]
)
async def test_key_with_limits_that_do_not_fit_together_is_refused(
    client: Client, limits: dict[str, Any]
) -> None:
    with pytest.raises(ProblemError) as refused:
        await client.create_key("impossible", **limits)
    assert (refused.value.status, refused.value.code) == (400, "invalid_request")


async def test_workspaces_are_listed_with_name_and_role(client: Client) -> None:
    made = await client.create_workspace("Told")
    [received] = [each async for each in client.workspaces() if each.id == made.id]
    assert (received.name, received.role) == ("Told", "owner")
    assert received.created_at.utcoffset() == timedelta(0)


async def test_note_is_emptied_and_may_begin_empty(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", "one\n")
    changed = await workspace.update(made.file_id, made.revision.id, text="")
    assert (await workspace.file(made.file_id)).text == ""
    await workspace.update(made.file_id, changed.revision.id, text="", path="b.md")
    file = await workspace.file(made.file_id)
    assert (file.path, file.text) == ("b.md", "")
    empty = await workspace.create("c.md", "")
    assert (await workspace.file(empty.file_id)).text == ""


async def test_file_is_created_changed_deleted_and_restored(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", "one\n")
    assert (made.outcome, made.path, made.position) == ("created", "a.md", 1)
    changed = await workspace.update(made.file_id, made.revision.id, text="two\n", path="b.md")
    assert (changed.outcome, changed.path) == ("updated", "b.md")
    file = await workspace.file(made.file_id)
    assert (file.path, file.text, file.head, file.document) == (
        "b.md",
        "two\n",
        changed.revision,
        None,
    )
    gone = await workspace.delete(made.file_id, changed.revision.id)
    assert gone.outcome == "deleted"
    with pytest.raises(NotFoundError):
        await workspace.file(made.file_id)
    assert [each.id async for each in workspace.files(state="deleted")] == [made.file_id]
    back = await workspace.restore(made.file_id, gone.revision.id, path="c.md")
    assert (back.outcome, back.path) == ("restored", "c.md")
    earlier = await workspace.restore(made.file_id, back.revision.id, revision_id=made.revision.id)
    assert (await workspace.file(made.file_id)).text == "one\n"
    assert earlier.revision.origin == "restore"
    received = [each.id async for each in workspace.revisions(made.file_id)]
    assert received == [each.revision.id for each in (earlier, back, gone, changed, made)]
    assert (await workspace.revision(made.file_id, changed.revision.id)).text == "two\n"


async def test_purged_file_is_gone_permanently(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", "one\n")
    await workspace.delete(made.file_id, made.revision.id)
    assert (await workspace.purge(made.file_id)).outcome == "purged"
    with pytest.raises(NotFoundError) as refused:
        await workspace.file(made.file_id)
    assert (refused.value.status, refused.value.code) == (410, "file_purged")


async def test_moved_head_is_reported_with_the_new_one(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", "one\n")
    second = await workspace.update(made.file_id, made.revision.id, text="two\n")
    with pytest.raises(HeadMovedError) as refused:
        await workspace.update(made.file_id, made.revision.id, text="three\n")
    assert refused.value.file_ids == (made.file_id,)
    assert refused.value.revision_id == second.revision.id
    assert not refused.value.outcome_unknown


async def test_changeset_is_accepted_atomically(workspace: WorkspaceClient) -> None:
    kept = await workspace.create("kept.md", "one\n")
    gone = await workspace.create("gone.md", "one\n")
    lost = await workspace.create("lost.md", "one\n")
    deleted = await workspace.delete(lost.file_id, lost.revision.id)
    new = workspace.new_file_id()
    result = await workspace.push(
        [
            Create(new, "gone.md", "new\n"),
            Update(kept.file_id, kept.revision.id, text="two\n"),
            Delete(gone.file_id, gone.revision.id),
            Restore(lost.file_id, deleted.revision.id),
        ]
    )
    assert [each.outcome for each in result.changes] == [
        "created",
        "updated",
        "deleted",
        "restored",
    ]
    assert {each.position for each in result.changes} == {result.position}
    assert await workspace.receipt(result.mutation_id) == result
    purged = await workspace.push([Purge(gone.file_id)])
    assert purged.changes[0].outcome == "purged"


async def test_changeset_with_moved_heads_names_all_of_them(workspace: WorkspaceClient) -> None:
    made = [await workspace.create(f"{name}.md", "one\n") for name in "abc"]
    for each in made[:2]:
        await workspace.update(each.file_id, each.revision.id, text="two\n")
    with pytest.raises(HeadMovedError) as refused:
        await workspace.push([Update(each.file_id, each.revision.id, text="3\n") for each in made])
    assert refused.value.file_ids == tuple(each.file_id for each in made[:2])
    assert refused.value.revision_id is None


async def test_receipt_of_an_unsent_change_is_none(workspace: WorkspaceClient) -> None:
    assert await workspace.receipt(MutationId(workspace.new_file_id())) is None


async def test_repeated_mutation_has_one_effect(workspace: WorkspaceClient) -> None:
    mutation_id = MutationId(workspace.new_file_id())
    first, second = [await workspace.create("a.md", "one\n", mutation_id) for _ in range(2)]
    assert first == second
    with pytest.raises(ProblemError) as refused:
        await workspace.create("b.md", "one\n", mutation_id)
    assert refused.value.code == "mutation_reused"


async def test_many_files_are_read_together_and_missing_ones_listed(
    workspace: WorkspaceClient,
) -> None:
    made = [await workspace.create(f"{name}.md", name) for name in "ab"]
    unknown = workspace.new_file_id()
    found = await workspace.read([made[1].file_id, unknown], [made[0].revision.id])
    assert [each.text for each in found.items] == ["b", "a"]
    assert found.missing == (unknown,)


async def test_files_are_listed_over_several_pages(workspace: WorkspaceClient) -> None:
    for start in (0, 500):
        await workspace.push(
            [
                Create(workspace.new_file_id(), f"{start + number:03}.md", "x")
                for number in range(500 if start == 0 else 20)
            ]
        )
    listed = [each.path async for each in workspace.files()]
    assert listed == [f"{number:03}.md" for number in range(520)]
    assert [each.path async for each in workspace.files("51")] == [
        f"51{number}.md" for number in range(10)
    ]


async def test_list_may_be_left_at_any_file(workspace: WorkspaceClient) -> None:
    for name in "ab":
        await workspace.create(f"{name}.md", name)
    assert (await anext(workspace.files())).path == "a.md"
    gc.collect()


async def test_difference_is_returned_by_lines_and_by_words(workspace: WorkspaceClient) -> None:
    made = await workspace.create("a.md", "one\ntwo\n")
    await workspace.update(made.file_id, made.revision.id, text="one\nthree\n")
    lines = await workspace.difference(made.file_id, made.revision.id, context=0)
    assert lines.hunks is not None
    assert [(each.kind, each.text) for each in lines.hunks[0].lines] == [
        ("removed", "two\n"),
        ("added", "three\n"),
    ]
    words = await workspace.difference(made.file_id, by="words")
    assert words.words is not None
    assert "".join(each.text for each in words.words if each.kind != "removed") == "one\nthree\n"


async def test_words_are_found_with_their_positions(workspace: WorkspaceClient) -> None:
    await workspace.create("songs/sea.md", "# The sea\n\nA xylophone plays.\n")
    await workspace.create("sky.md", "# The sky\n")
    found = await workspace.search("xylo")
    [hit] = found.items
    assert (hit.path, hit.title, found.more) == ("songs/sea.md", "The sea", False)
    [snippet] = hit.snippets
    assert [snippet.text[each.start : each.end] for each in snippet.marks] == ["xylophone"]
    assert (await workspace.search("the", folder="songs")).items[0].path == "songs/sea.md"
    assert (await workspace.search("the", limit=1)).more
    now = datetime.now(UTC)
    assert (await workspace.search("xylo", changed_since=now - timedelta(hours=1))).items
    assert not (await workspace.search("xylo", changed_since=now + timedelta(hours=1))).items
    assert not (await workspace.search("xylo", changed_before=now - timedelta(hours=1))).items
    assert not (await workspace.search("xylo", author=str(uuid4()))).items
    nothing = await workspace.search("nothing")
    assert (nothing.items, nothing.complete) == ((), True)


async def test_all_workspaces_of_the_account_are_searched(
    client: Client, workspace: WorkspaceClient
) -> None:
    other = await client.create_workspace("Other")
    places = [await each.create("a.md", "A glockenspiel.\n") for each in (workspace, other)]
    found = await client.search("glock", folder="")
    assert {each.file_id for each in found.items} == {each.file_id for each in places}


async def test_refusal_names_the_wrong_part_of_the_request(workspace: WorkspaceClient) -> None:
    with pytest.raises(ProblemError, match=r"/query/q: The query is empty"):
        await workspace.search("...")


async def test_links_are_listed_from_both_ends(workspace: WorkspaceClient) -> None:
    one = await workspace.create("one.md", "# One\n\n[two](two.md) [[none]]\n")
    two = await workspace.create("two.md", "# Two\n")
    outgoing = (await workspace.links(one.file_id)).outgoing
    assert [(each.target, each.file_id) for each in outgoing] == [
        ("two.md", two.file_id),
        ("none", None),
    ]
    [incoming] = (await workspace.links(two.file_id)).incoming
    assert (incoming.path, incoming.title) == ("one.md", "One")
    assert [each.target async for each in workspace.unresolved_links()] == ["none"]


async def test_more_links_than_a_page_holds_are_all_listed(workspace: WorkspaceClient) -> None:
    made = [
        Create(workspace.new_file_id(), f"{number}.md", "[there](there.md) [nowhere](no.md)\n")
        for number in range(500)
    ]
    await workspace.push(made)
    there = await workspace.create("there.md", "# There\n")
    await workspace.create("last.md", "[there](there.md) [nowhere](no.md)\n")
    links = await workspace.links(there.file_id)
    assert len(links.incoming) == 501
    assert len([each async for each in workspace.unresolved_links()]) == 501


async def test_links_follow_a_file_that_moves(workspace: WorkspaceClient) -> None:
    one = await workspace.create("one.md", "[two](two.md)\n")
    two = await workspace.create("two.md", "# Two\n")
    await workspace.update(two.file_id, two.revision.id, path="far/2.md", rewrite_links=True)
    assert (await workspace.file(one.file_id)).text == "[two](far/2.md)\n"
    head = (await workspace.file(two.file_id)).head.id
    result = await workspace.push([Update(two.file_id, head, path="2.md", rewrite_links=True)])
    assert {each.path for each in result.changes} == {"2.md", "one.md"}


async def test_session_receives_notices(served: tuple[str, Person]) -> None:
    url, person = served
    async with Client(url, entropy=SystemRandom(), origin=PUBLIC) as client:
        await client.sign_in(person.address, PASSWORD)
        workspace = await client.create_workspace("Heard")
        with trio.fail_after(PATIENCE):
            async with workspace.notices() as notices:
                assert await anext(notices) == WorkspaceChanged(workspace.id, *START)
