"""Messages about reports: to administrators when a link is reported, to owners when it is ended."""

from dataclasses import dataclass, field

import pytest
from antechamber.network_prefix import network_prefix
from octavo_rules.identity import AccountId

from octavo.access.after_commit import AfterCommit
from octavo.access.audit import Audit
from octavo.features.publishing.reports import LinkReports
from octavo.features.publishing.signing import ReportAddresses
from octavo.features.publishing.sql.link_reports import QUIET
from octavo.store import Transaction
from tests.fakes.notes_api import ADMINISTRATOR, NotesApi, account_id, opened

WHOLE = {"kind": "folder", "path": ""}


@dataclass
class Reported:
    """An installation that sends mail, and a link of it."""

    api: NotesApi
    reports: LinkReports
    token: str
    woken: list[None] = field(default_factory=list)

    async def outbox(self) -> list[tuple[str, str]]:
        """What waits to be sent, and to whom."""

        async def script(transaction: Transaction) -> list[tuple[str, str]]:
            rows = await transaction.fetch_all("SELECT kind, address FROM outbox ORDER BY id")
            return [(row[0], row[1]) for row in rows]

        return await self.api.store.read(script)


async def reported(api: NotesApi) -> Reported:
    await api.member(ADMINISTRATOR, "")
    await api.member("second", "owner")
    await api.execute("UPDATE accounts SET role = 'administrator' WHERE address = 'root'")
    await api.note("tea/green.md")
    sources, woken = api.sources, list[None]()
    audit = Audit(
        api.store,
        now=sources.now,
        new_id=sources.new_audit_id,
        network=network_prefix,
        log=lambda _: None,
        after=AfterCommit(),
    )
    reports = LinkReports(
        api.store,
        ReportAddresses(api.store, now=sources.now, new_secret=sources.new_entropy),
        audit=audit,
        now=sources.now,
        new_id=sources.new_id,
        mail_added=lambda: woken.append(None),
    )
    return Reported(api, reports, (await api.publish(WHOLE)).token, woken)


async def test_administrators_get_one_message_in_an_hour() -> None:
    async with opened() as api:
        made = await reported(api)
        for _ in range(3):
            await made.reports.submit(made.token, "spam", None)
        assert await made.outbox() == [("link_reported", ADMINISTRATOR)]
        await api.execute("DELETE FROM outbox")
        await made.reports.submit(made.token, "spam", None)
        assert await made.outbox() == []
        api.sources.time += QUIET / 1000 + 1
        await made.reports.submit(made.token, "spam", None)
        assert await made.outbox() == [("link_reported", ADMINISTRATOR)]
        assert len(made.woken) == 5


async def test_report_of_nothing_sends_nothing() -> None:
    async with opened() as api:
        made = await reported(api)
        await made.reports.submit("A" * 32, "spam", None)
        assert await made.outbox() == []


@pytest.mark.parametrize(
    ("column", "value"), [("state", "disabled"), ("state", "locked"), ("controls_locked", 1)]
)
async def test_administrators_who_cannot_act_get_none(column: str, value: str | int) -> None:
    async with opened() as api:
        made = await reported(api)
        await api.execute(f"UPDATE accounts SET {column} = $1 WHERE address = 'root'", value)
        await made.reports.submit(made.token, "spam", None)
        assert await made.outbox() == []


async def test_owners_get_a_message_when_a_link_is_taken_down() -> None:
    async with opened() as api:
        made = await reported(api)
        await made.reports.submit(made.token, "spam", "Look!")
        root = AccountId(account_id(ADMINISTRATOR))
        [(found, _)] = await made.reports.list(root, None, 10)
        # Another message to an owner replaces none.
        await api.execute("UPDATE outbox SET address = 'second'")
        await made.reports.take_down(found.report_id, actor=root, remote_address=None)
        assert sorted(await made.outbox()) == [
            ("link_reported", "second"),
            ("link_taken_down", "owner"),
            ("link_taken_down", "second"),
        ]


@pytest.mark.parametrize("waits", ["owner", "second"])
async def test_message_that_waits_for_one_owner_keeps_none_from_the_other(waits: str) -> None:
    async with opened() as api:
        made = await reported(api)
        await made.reports.submit(made.token, "spam", "Look!")
        root = AccountId(account_id(ADMINISTRATOR))
        [(found, _)] = await made.reports.list(root, None, 10)
        await api.execute("UPDATE outbox SET kind = 'link_taken_down', address = $1", waits)
        await made.reports.take_down(found.report_id, actor=root, remote_address=None)
        assert sorted(await made.outbox()) == [
            ("link_taken_down", "owner"),
            ("link_taken_down", "second"),
        ]
