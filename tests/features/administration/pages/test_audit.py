"""The page of the audit."""

import re

from tests.fakes.page_reader import PageReader
from tests.features.administration.pages.test_administration import account_of


async def test_audit_shows_who_did_what(ann: PageReader, bob: PageReader) -> None:
    await account_of(ann, "bob")
    await ann.submit("Save", state="locked")
    await ann.open("/administration/audit")
    text = " ".join(ann.text.split())
    assert "account changed" in text
    assert "sign in" in text
    assert ">Ann</a>" in text
    assert "bob@example.org" not in text


async def test_audit_shows_exact_times(ann: PageReader) -> None:
    await ann.open("/administration/audit")
    rows = ann.text.count("<tr><td")
    assert rows == len(re.findall(r'ago <span class="exact">[^<]+ UTC</span></time>', ann.text)) > 0


async def test_audit_is_filtered_by_kind_and_account(ann: PageReader, bob: PageReader) -> None:
    path = await account_of(ann, "bob")
    await ann.open(ann.page.links["What this account did, and what was done to it"])
    assert ann.path == f"/administration/audit?account={path.rpartition('/')[2]}"
    assert ann.text.count("<tr><td") == 2, "registered, and signed in"
    assert f'<p class="subject">of <a href="{path}" dir="auto">' in ann.text
    await ann.submit_query("Show", kind="sign_in")
    assert ann.text.count("<tr><td") == 1
    await ann.open("/administration/audit?kind=key_revoked")
    assert "Nothing of this kind" in ann.text


async def test_unknown_kind_shows_everything(ann: PageReader) -> None:
    await ann.open("/administration/audit?kind=magic")
    assert "account registered" in ann.text


async def test_members_see_no_audit(bob: PageReader) -> None:
    await bob.open("/administration/audit")
    assert bob.status == 403
