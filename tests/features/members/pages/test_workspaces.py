"""The pages of workspaces."""

from tests.fakes.page_reader import Installation, PageReader


async def create(ann: PageReader, name: str = "Household") -> str:
    """Create a workspace, and return the path of its pages."""
    await ann.open("/workspaces")
    await ann.submit("Create the workspace", name=name)
    assert ann.status == 200, ann.text
    return ann.path.removesuffix("/members")


async def test_empty_list_says_what_to_do(ann: PageReader) -> None:
    await ann.open("/workspaces")
    assert "No workspace yet" in ann.text


async def test_workspace_is_created_and_listed(ann: PageReader) -> None:
    path = await create(ann, "Tea & <b>cake</b>")
    assert ann.page.alerts == ["The workspace is created."]
    assert ann.page.headings == ["Tea & <b>cake</b>"]
    await ann.open("/workspaces")
    assert ann.page.links["Tea & <b>cake</b>"] == path


async def test_name_is_required(ann: PageReader) -> None:
    await ann.open("/workspaces")
    page = await ann.submit("Create the workspace", name=" ")
    assert (ann.status, page.focused) == (400, ["name"])


async def test_workspace_is_renamed(ann: PageReader) -> None:
    path = await create(ann)
    await ann.open(f"{path}/settings")
    page = await ann.submit("Rename", name="Home")
    assert (page.headings, page.alerts) == (["Home"], ["The workspace is renamed."])
    page = await ann.submit("Rename", name="")
    assert (ann.status, page.focused) == (400, ["name"])


async def test_workspace_is_deleted_when_its_name_is_typed(ann: PageReader) -> None:
    path = await create(ann)
    await ann.open(f"{path}/delete")
    page = await ann.submit("Delete for good", name="household")
    assert (ann.status, page.focused) == (400, ["name"])
    await ann.submit("Delete for good", name="Household")
    assert (ann.path, ann.page.alerts) == ("/workspaces", ["The workspace is deleted."])
    await ann.open(f"{path}/members")
    assert ann.status == 404


async def test_workspace_of_others_does_not_exist(ann: PageReader, bob: PageReader) -> None:
    path = await create(ann)
    for page in ("", "/members", "/invitations", "/settings", "/delete"):
        await bob.open(path + page)
        assert (bob.status, bob.page.headings) == (404, ["Page not found"])


async def test_long_list_has_pages(house: Installation, ann: PageReader) -> None:
    for number in range(31):
        await create(ann, f"Number {number}")
    await ann.open("/workspaces")
    assert "Number 29" in ann.page.links
    assert "Number 30" not in ann.page.links
    await ann.open(ann.page.links["Next page"])
    assert "Number 30" in ann.page.links
    await ann.open(ann.page.links["First page"])
    assert "Number 0" in ann.page.links


async def test_locked_account_can_delete_its_workspaces(ann: PageReader, bob: PageReader) -> None:
    path = await create(bob)
    await ann.open("/administration/accounts?text=bob")
    await ann.open(ann.page.links["Ann"])
    await ann.submit("Save", state="locked")
    await bob.open("/workspaces")
    assert bob.page.links["Delete Household"] == f"{path}/delete"
    await bob.open(f"{path}/delete")
    await bob.submit("Delete for good", name="Household")
    assert bob.page.alerts == ["The workspace is deleted."]
    await bob.open("/workspaces/01900000-0000-7000-8000-0000000000ff/delete")
    assert bob.status == 404


async def test_locked_account_is_offered_the_export_of_what_it_owns_alone(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    own, shared = await create(bob, "Own"), await create(bob, "Shared")
    await house.users.identity.execute(
        "INSERT INTO members (workspace_id, account_id, role, joined_at)"
        " SELECT $1::uuid, id, 'reader', 0 FROM accounts WHERE address <> 'bob@example.org'",
        shared.rpartition("/")[2],
    )
    await ann.open("/administration/accounts?text=bob")
    await ann.open(ann.page.links["Ann"])
    await ann.submit("Save", state="locked")
    await bob.open("/workspaces")
    assert bob.page.links["Export Own"] == f"/api{own}/export"
    assert "Export Shared" not in bob.page.links
    assert "Delete Shared" in bob.page.links
    # It is over soon, unlike the other reasons.
    await house.users.identity.execute(
        "INSERT INTO archive_jobs (slot, account_id, job_id, renewed_until)"
        " SELECT 0, id, id, 99999999999999 FROM accounts WHERE address = 'bob@example.org'"
    )
    await bob.open("/workspaces")
    assert "Export Own" in bob.page.links
    assert "Export Shared" not in bob.page.links
