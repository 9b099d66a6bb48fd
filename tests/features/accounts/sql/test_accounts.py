"""What is stored of accounts: decisions, what ends with them, and what closed accounts refuse."""

from collections.abc import Callable
from typing import Any

import pytest
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.accounts.rules.decisions import DecisionsChange
from octavo.features.accounts.rules.refusal import LastAdministrator, NotAdministrator
from octavo.features.accounts.sql import account_removal, accounts, api_keys
from octavo.model.access.account import AccountGone
from octavo.model.usage import month_of
from octavo.store import Script
from octavo.store.queries import workspaces
from tests.fakes.identity_fixture import START, IdentityFixture

NOW = int(START * 1000)
HERE = WorkspaceId("01900000-0000-7000-8000-00000000b001")


async def test_last_administrator_besides_a_locked_one_stays(identity: IdentityFixture) -> None:
    ann = (await identity.account(role="administrator")).account.account_id
    ben = (await identity.account("ben@example.org", "administrator")).account.account_id
    await identity.execute("UPDATE accounts SET controls_locked = 1 WHERE id = $1::uuid", ben)
    demote = accounts.decide(ann, DecisionsChange(role="member"), NOW, actor=None)
    with pytest.raises(LastAdministrator):
        await identity.store.write(demote)
    await identity.execute("UPDATE accounts SET controls_locked = 0")
    assert (await identity.store.write(demote)).decisions.role == "member"


@pytest.mark.parametrize("change", [{"role": "member"}, {"state": "disabled"}])
async def test_former_administrator_grants_no_more_what_administrators_alone_may(
    identity: IdentityFixture, change: dict[str, Any]
) -> None:
    ann = (await identity.account(role="administrator")).account.account_id
    await identity.account("ben@example.org", "administrator")
    await identity.store.write(workspaces.create(HERE, "A", ann, 0))
    await identity.execute("DELETE FROM invitations")
    for name, role, workspace_id in (
        ("to the installation", "member", None),
        ("into a workspace", "member", HERE),
        ("as administrator", "administrator", HERE),
    ):
        await identity.execute(
            "INSERT INTO invitations (id, digest, role, created_at, expires_at, workspace_id,"
            " workspace_role, created_by_id)"
            " VALUES ($1::uuid, $2, $3, 0, 10, $4::uuid, 'editor', $5::uuid)",
            identity.sources.new_id(),
            name.encode(),
            role,
            workspace_id,
            ann,
        )
    await identity.store.write(accounts.decide(ann, DecisionsChange(**change), NOW, actor=None))
    left = await identity.rows("SELECT digest FROM invitations WHERE revoked_at IS NULL")
    assert [bytes(row[0]) for row in left] == [b"into a workspace"]


@pytest.mark.parametrize(("session", "key"), [(7, 3), (3, 7), (7, None)])
async def test_last_activity_is_that_of_a_session_or_a_key(
    identity: IdentityFixture, session: int, key: int | None
) -> None:
    account_id = (await identity.account()).account.account_id
    await identity.own_keys.create(account_id, "a", None, remote_address=None)
    await identity.execute("UPDATE sessions SET active_at = $1", session)
    await identity.execute("UPDATE api_keys SET used_at = $1", key)
    summary = await identity.store.read(accounts.summary_of(account_id, month_of(START)))
    assert summary is not None
    assert summary.active_at == 7


async def test_last_activity_is_not_that_of_others(identity: IdentityFixture) -> None:
    ann = (await identity.account()).account.account_id
    ben = (await identity.account("ben@example.org")).account.account_id
    for account_id, at in ((ann, 7), (ben, 9)):
        key, _ = await identity.own_keys.create(account_id, "a", None, remote_address=None)
        await identity.store.write(api_keys.record_use({key.key_id: at}))
        await identity.execute(
            "UPDATE sessions SET active_at = $2 WHERE account_id = $1::uuid", account_id, at
        )
    summary = await identity.store.read(accounts.summary_of(ann, month_of(START)))
    assert summary is not None
    assert summary.active_at == 7


async def test_account_that_never_signed_in_was_never_active(identity: IdentityFixture) -> None:
    account_id = (await identity.account()).account.account_id
    await identity.execute("DELETE FROM sessions")
    summary = await identity.store.read(accounts.summary_of(account_id, month_of(START)))
    assert summary is not None
    assert summary.active_at is None


async def test_decision_tells_the_usage_of_the_present_month(identity: IdentityFixture) -> None:
    account_id = (await identity.account()).account.account_id
    first_of_january = 1_798_761_600
    for second, month in ((-1, "2026-12"), (0, "2027-01")):
        now = (first_of_january + second) * 1000
        script = accounts.decide(account_id, DecisionsChange(state="locked"), now, actor=None)
        assert (await identity.store.write(script)).usage.month == month
        renamed = await identity.store.write(accounts.rename(account_id, "Anna", now))
        assert renamed.usage.month == month


async def test_administrator_who_was_removed_decides_nothing(identity: IdentityFixture) -> None:
    gone = (await identity.account(role="administrator")).account.account_id
    await identity.account("ben@example.org", "administrator")
    cleo = (await identity.account("cleo@example.org")).account.account_id
    await identity.store.write(account_removal.remove(gone))
    with pytest.raises(NotAdministrator):
        await identity.store.write(
            accounts.decide(cleo, DecisionsChange(state="disabled"), NOW, actor=gone)
        )


async def test_account_changes_its_own_name_and_password_only(identity: IdentityFixture) -> None:
    ann = (await identity.account()).account.account_id
    ben = (await identity.account("ben@example.org")).account.account_id
    await identity.execute("UPDATE accounts SET password = 'same'")
    await identity.store.write(accounts.rename(ann, "Anna", NOW))
    script = accounts.replace_password(ann, verified="same", encoded="other", now=NOW)
    assert await identity.store.write(script)
    assert await identity.rows(
        "SELECT id, display_name, password FROM accounts ORDER BY address"
    ) == [(ann, "Anna", "other"), (ben, "Ann", "same")]


@pytest.mark.parametrize(
    "change",
    [
        lambda account_id: accounts.rename(account_id, "Other", NOW),
        lambda account_id: accounts.update_preferences(
            account_id, theme_family=None, appearance="dark", spell_check=None
        ),
    ],
    ids=["name", "preferences"],
)
async def test_disabled_account_is_not_changed(
    identity: IdentityFixture, change: Callable[[AccountId], Script[object]]
) -> None:
    account_id = (await identity.account()).account.account_id
    await identity.set_state(account_id, "disabled")
    with pytest.raises(AccountGone):
        await identity.store.write(change(account_id))


@pytest.mark.parametrize(("state", "replaced"), [("enabled", True), ("disabled", False)])
async def test_password_of_a_disabled_account_is_not_replaced(
    identity: IdentityFixture, state: str, replaced: bool
) -> None:
    signed_in = await identity.account()
    account_id = signed_in.account.account_id
    await identity.execute("UPDATE accounts SET state = $1", state)
    script = accounts.replace_password(
        account_id, verified=signed_in.encoded, encoded="other", now=NOW
    )
    assert await identity.store.write(script) is replaced


@pytest.mark.parametrize("text", ["Älp", "PLER", "ann@EX", "r_s", "s\\x"])
async def test_account_is_found_by_parts_of_its_name_and_address(
    identity: IdentityFixture, text: str
) -> None:
    account_id = (await identity.account()).account.account_id
    await identity.account("ben@example.org")
    await identity.execute(
        "UPDATE accounts SET display_name = 'Älpler_s\\x' WHERE id = $1::uuid", account_id
    )
    script = accounts.list_of(AccountId(""), 10, text, month_of(START))
    assert [found.account.account_id for found in await identity.store.read(script)] == [account_id]


async def test_no_more_accounts_are_listed_than_were_asked_for(identity: IdentityFixture) -> None:
    made = [
        (await identity.account(f"{name}@example.org")).account.account_id
        for name in ("ann", "ben", "cleo", "dan")
    ]
    script = accounts.list_of(made[0], 2, "", month_of(START))
    listed = [found.account.account_id for found in await identity.store.read(script)]
    assert listed == made[1:3]
