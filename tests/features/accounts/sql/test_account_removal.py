"""What the removal of an account leaves to others, and what goes with it."""

import pytest
from octavo_rules.identity import AccountId

from octavo.features.accounts.rules.refusal import LastAdministrator
from octavo.features.accounts.sql.account_removal import remove
from tests.fakes.identity_fixture import IdentityFixture


async def account(identity: IdentityFixture, name: str) -> AccountId:
    return (await identity.account(f"{name}@example.org")).account.account_id


@pytest.mark.parametrize("locked", [True, False])
async def test_administrator_who_is_locked_is_not_the_last_one(
    identity: IdentityFixture, locked: bool
) -> None:
    signed_in = await identity.account(role="administrator")
    await identity.execute("UPDATE accounts SET controls_locked = $1", int(locked))
    script = remove(signed_in.account.account_id)
    if locked:
        await identity.store.write(script)
    else:
        with pytest.raises(LastAdministrator):
            await identity.store.write(script)


async def test_invitations_of_the_account_and_to_its_address_go_unless_others_used_them(
    identity: IdentityFixture,
) -> None:
    ann, ben = await account(identity, "ann"), await account(identity, "ben")
    await identity.execute("DELETE FROM invitations")
    rows = [
        ("to ann", "ann@example.org", ben, None),
        ("unused", "cat@example.org", ann, None),
        ("used", "ben@example.org", ann, 1),
        ("of ben", "cat@example.org", ben, None),
    ]
    for name, address, creator, used_at in rows:
        await identity.execute(
            "INSERT INTO invitations (id, digest, address, role, created_at, expires_at, used_at,"
            " created_by_id) VALUES ($1::uuid, $2, $3, 'member', 0, 10, $4, $5::uuid)",
            identity.sources.new_id(),
            name.encode(),
            address,
            used_at,
            creator,
        )
    await identity.store.write(remove(ann))
    left = await identity.rows("SELECT digest FROM invitations ORDER BY id")
    assert [bytes(row[0]) for row in left] == [b"used", b"of ben"]
