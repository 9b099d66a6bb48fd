"""The members of a workspace as they are stored."""

from octavo_rules.identity import WorkspaceId

from octavo.features.members.sql import members
from octavo.store.queries import workspaces
from tests.fakes.identity_fixture import IdentityFixture

HERE = WorkspaceId("01900000-0000-7000-8000-00000000b001")


async def test_page_of_members_has_at_most_as_many_as_asked_for(identity: IdentityFixture) -> None:
    ann = (await identity.account()).account.account_id
    ben = (await identity.account("ben@example.org")).account.account_id
    await identity.store.write(workspaces.create(HERE, "Notes", ann, 0))
    await identity.store.write(lambda each: members.join(each, HERE, ben, "reader", 1))
    found = [
        [member.account_id for member in await identity.store.read(members.list_of(*page))]
        for page in ((HERE, None, 1), (HERE, None, 2), (HERE, (0, ann), 2))
    ]
    assert found == [[ann], [ann, ben], [ben]]
