"""Codes and tokens: each is used once, and ends with its grant."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest
import trio
from octavo_rules.identity import READ, AccountId, ProgramNumber, Scope, WorkspaceId

from octavo.access.attempts import GRANTS
from octavo.features.files.sql import RecordedProgram, programs_of
from octavo.features.oauth.authorization import IssuedTokens
from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.features.oauth.rules.refusal import OAuthRefusal
from octavo.features.oauth.sql import oauth_clients, oauth_grants
from octavo.model.access.account import AccessLimits, AccountGone, ClientId, TooManyAttempts
from octavo.store.queries.process_notices import CHANNEL, AccessNotice, read_notice
from tests.fakes.identity_fixture import START, IdentityFixture
from tests.fakes.oauth_rig import ALL, CALLBACK, PROGRAM, URL, VERIFIER, OAuthRig
from tests.fakes.stores import open_postgres

DAY = 86_400


async def account(rig: OAuthRig) -> AccountId:
    return (await rig.identity.account()).account.account_id


async def refused(task: Awaitable[object], code: str = "invalid_grant") -> None:
    with pytest.raises(OAuthRefusal) as refusal:
        await task
    assert refusal.value.code == code


async def is_valid(rig: OAuthRig, tokens: IssuedTokens) -> bool:
    found = await rig.access_tokens.caller(tokens.access.encode())
    return found is not None


async def test_access_token_authenticates_within_the_limits_of_its_grant(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    chosen = frozenset({WorkspaceId("01900000-0000-7000-8000-0000000000aa")})
    limits = AccessLimits(frozenset[Scope]({READ}), chosen)
    tokens = await rig.exchange(client_id, await rig.code(account_id, client_id, limits))
    caller = await rig.access_tokens.caller(tokens.access.encode())
    assert caller is not None
    assert (caller.account_id, caller.limits) == (account_id, limits)
    programs = await rig.identity.store.read(programs_of([caller.program or ProgramNumber(0)]))
    assert [*programs.values()] == [RecordedProgram(client_id, "An assistant")]
    assert tokens.scopes == {READ}


async def test_use_of_a_grant_is_recorded(rig: OAuthRig) -> None:
    account_id = await account(rig)
    _, tokens = await rig.connected(account_id)
    rig.identity.sources.time = START + 90
    assert await is_valid(rig, tokens)
    await rig.identity.activity.flush()
    [grant] = await rig.tokens.list(account_id)
    assert (grant.client_name, grant.used_at) == ("An assistant", (START + 90) * 1000)
    # Another process may be late.
    await rig.identity.store.write(oauth_grants.record_use({grant.grant_id: int(START * 1000)}))
    assert await rig.tokens.list(account_id) == [grant]


async def test_tokens_expire(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id, tokens = await rig.connected(account_id)
    rig.identity.sources.time = START + 3599
    assert await is_valid(rig, tokens)
    rig.identity.sources.time = START + 3600
    assert not await is_valid(rig, tokens)
    rig.identity.sources.time = START + 30 * DAY
    await refused(rig.renew(client_id, tokens.refresh))
    # It was late, not stolen.
    assert rig.identity.audited[-1].kind == "grant_created"


async def test_tokens_end_with_the_time_that_the_person_chose(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    tokens = await rig.exchange(client_id, await rig.code(account_id, client_id, days=1))
    for number in range(1, 4):
        rig.identity.sources.time = START + number * 0.3 * DAY
        tokens = await rig.renew(client_id, tokens.refresh)
    assert tokens.seconds == 3600
    for left, seconds in ((60, 60), (1.5, 1), (0.5, 0)):
        rig.identity.sources.time = START + DAY - left
        tokens = await rig.renew(client_id, tokens.refresh)
        assert tokens.seconds == seconds
    for ended in (START + DAY, START + DAY + 60):
        rig.identity.sources.time = ended
        await refused(rig.renew(client_id, tokens.refresh))
        assert await rig.tokens.list(account_id) == []


async def test_code_expires(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    code = await rig.code(account_id, client_id)
    rig.identity.sources.time = START + 60
    await refused(rig.exchange(client_id, code))
    # It was late, not stolen.
    assert rig.identity.audited[-1].kind == "grant_created"


async def test_code_of_another_program_or_without_its_proof_is_refused(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id, other = await rig.program(), await rig.program()
    code = await rig.code(account_id, client_id)

    async def exchange(**changed: str | None) -> None:
        given: dict[str, str | None] = {
            "verifier": VERIFIER,
            "redirect_uri": CALLBACK,
            "resource": None,
            **changed,
        }
        await rig.tokens.exchange(client_id, code, **given)  # type: ignore[arg-type]

    await refused(rig.exchange(other, code))
    await refused(exchange(verifier="w" * 43))
    await refused(exchange(verifier=""))
    await refused(exchange(redirect_uri=f"{CALLBACK}/"))
    await refused(exchange(redirect_uri=None))
    await refused(exchange(resource=URL), "invalid_target")
    # None of these used it up.
    await exchange()


async def test_code_used_again_ends_the_tokens_of_its_grant(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    code = await rig.code(account_id, client_id)
    tokens = await rig.exchange(client_id, code)
    assert await is_valid(rig, tokens)
    await refused(rig.exchange(client_id, code))
    assert not await is_valid(rig, tokens)
    entry = rig.identity.audited[-1]
    assert (entry.kind, entry.detail["reason"]) == ("grant_revoked", "code_reused")


async def test_code_used_again_without_its_proof_ends_the_grant_alike(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    code = await rig.code(account_id, client_id)
    await rig.exchange(client_id, code)
    with pytest.raises(OAuthRefusal, match="already used"):
        await rig.tokens.exchange(
            client_id, code, verifier="w" * 43, redirect_uri=CALLBACK, resource=None
        )
    assert rig.identity.audited[-1].detail["reason"] == "code_reused"
    assert await rig.tokens.list(account_id) == []


async def test_refresh_token_used_again_ends_the_whole_family(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id, first = await rig.connected(account_id)
    second = await rig.renew(client_id, first.refresh)
    third = await rig.renew(client_id, second.refresh)
    await refused(rig.renew(client_id, first.refresh))
    for tokens in (first, second, third):
        assert not await is_valid(rig, tokens)
    await refused(rig.renew(client_id, third.refresh))
    assert rig.identity.audited[-1].detail["reason"] == "refresh_token_reused"


async def test_refresh_token_used_again_is_refused_whatever_is_asked_for(rig: OAuthRig) -> None:
    client_id, tokens = await rig.connected(await account(rig))
    await rig.renew(client_id, tokens.refresh)
    # Its program learns that it must ask the person again, not that it may ask for less.
    await refused(rig.renew(client_id, tokens.refresh, "everything"))
    assert rig.identity.audited[-1].detail["reason"] == "refresh_token_reused"


async def test_renewal_for_another_resource_is_refused_and_uses_nothing_up(rig: OAuthRig) -> None:
    client_id, tokens = await rig.connected(await account(rig))
    for resource in (URL, "https://other.example/mcp"):
        await refused(
            rig.tokens.renew(client_id, tokens.refresh, scope=None, resource=resource),
            "invalid_target",
        )
    renewed = await rig.tokens.renew(client_id, tokens.refresh, scope=None, resource=f"{URL}/mcp")
    assert await is_valid(rig, renewed)


async def test_stolen_token_of_another_program_neither_works_nor_ends_the_grant(
    rig: OAuthRig,
) -> None:
    account_id = await account(rig)
    client_id, tokens = await rig.connected(account_id)
    other = await rig.program()
    await refused(rig.renew(other, tokens.refresh))
    await rig.tokens.revoke(other, tokens.refresh)
    assert await is_valid(rig, await rig.renew(client_id, tokens.refresh))


async def run_all(*tasks: Callable[[], Awaitable[IssuedTokens]]) -> list[IssuedTokens]:
    made: list[IssuedTokens] = []

    async def run(task: Callable[[], Awaitable[IssuedTokens]]) -> None:
        with suppress(OAuthRefusal):
            made.append(await task())

    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(run, task)
    return made


async def test_of_concurrent_uses_one_succeeds_and_the_others_end_the_grant(
    rig: OAuthRig,
) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    code = await rig.code(account_id, client_id)
    made = await run_all(*[lambda: rig.exchange(client_id, code)] * 5)
    assert len(made) == 1
    assert await rig.tokens.list(account_id) == []
    client_id, tokens = await rig.connected(account_id)
    made = await run_all(*[lambda: rig.renew(client_id, tokens.refresh)] * 5)
    assert len(made) == 1
    assert not any([await is_valid(rig, each) for each in made])


async def test_less_may_be_asked_for_and_never_more(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    reading = AccessLimits(frozenset[Scope]({READ}))
    tokens = await rig.exchange(client_id, await rig.code(account_id, client_id, reading))
    await refused(rig.renew(client_id, tokens.refresh, "notes:write"), "invalid_scope")
    await refused(rig.renew(client_id, tokens.refresh, "everything"), "invalid_scope")
    client_id, tokens = await rig.connected(account_id)
    less = await rig.renew(client_id, tokens.refresh, "notes:read")
    assert less.scopes == {READ}
    caller = await rig.access_tokens.caller(less.access.encode())
    assert caller is not None
    assert caller.limits == AccessLimits(frozenset[Scope]({READ}))
    more = await rig.renew(client_id, less.refresh, "notes:write notes:read")
    assert more.scopes == ALL
    # A scope without a name asks for nothing else.
    assert (await rig.renew(client_id, more.refresh, " ")).scopes == ALL


async def test_grant_is_ended_by_its_person_alone(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id, tokens = await rig.connected(account_id)
    other = (await rig.identity.account("bob@example.org")).account.account_id
    [grant] = await rig.tokens.list(account_id)
    assert not await rig.tokens.end(other, grant.grant_id, remote_address=None)
    assert await is_valid(rig, tokens)
    assert await rig.tokens.end(account_id, grant.grant_id, remote_address=None)
    assert not await is_valid(rig, tokens)
    await refused(rig.renew(client_id, tokens.refresh))
    assert not await rig.tokens.end(account_id, grant.grant_id, remote_address=None)


async def test_program_ends_its_tokens(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id, tokens = await rig.connected(account_id)
    await rig.tokens.revoke(client_id, tokens.access)
    assert not await is_valid(rig, tokens)
    tokens = await rig.renew(client_id, tokens.refresh)
    await rig.tokens.revoke(client_id, tokens.refresh)
    assert not await is_valid(rig, tokens)
    await rig.tokens.revoke(client_id, "unknown")


async def test_disabled_account_has_no_tokens(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id, tokens = await rig.connected(account_id)
    await rig.identity.execute("UPDATE accounts SET state = 'disabled'")
    rig.identity.credentials.forget(account_id)
    assert not await is_valid(rig, tokens)
    await refused(rig.renew(client_id, tokens.refresh))


async def test_grant_that_is_one_too_many_ends_the_longest_unused_at_once(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id, tokens = await rig.connected(account_id)
    [oldest] = await rig.tokens.list(account_id)
    for number in range(1, 100):
        rig.identity.sources.time = START + number * 10
        await rig.code(account_id, client_id)
    assert await is_valid(rig, tokens)
    assert rig.identity.audited[-1].kind == "grant_created"
    await rig.code(account_id, client_id)
    # The access token was cached just before.
    assert not await is_valid(rig, tokens)
    await refused(rig.renew(client_id, tokens.refresh))
    created, ended = rig.identity.audited[-2:]
    assert (created.kind, ended.kind) == ("grant_created", "grant_revoked")
    assert (ended.actor, ended.subject) == ("system", oldest.grant_id)
    assert ended.detail == {"account": account_id, "reason": "too_many"}
    left = await rig.tokens.list(account_id)
    assert len(left) == 100
    assert oldest not in left


async def test_grant_that_is_used_stays_for_longer_than_a_newer_one(
    rig: OAuthRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_grants, "MAX_GRANTS", 2)
    account_id = await account(rig)
    client_id, tokens = await rig.connected(account_id)
    rig.identity.sources.time = START + 60
    await rig.code(account_id, client_id)
    unused, used = await rig.tokens.list(account_id)
    rig.identity.sources.time = START + 120
    assert await is_valid(rig, tokens)
    await rig.identity.activity.flush()
    await rig.code(account_id, client_id)
    left = {grant.grant_id for grant in await rig.tokens.list(account_id)}
    assert len(left) == 2
    assert used.grant_id in left
    assert unused.grant_id not in left


async def test_grants_of_one_account_are_limited_in_their_rate(rig: OAuthRig) -> None:
    account_id = await account(rig)
    other = (await rig.identity.account("bob@example.org")).account.account_id
    client_id = await rig.program()
    # Keys and invitations count alike.
    for _ in range(119):
        rig.identity.attempts.admit_account(GRANTS, account_id)
    await rig.code(account_id, client_id)
    with pytest.raises(TooManyAttempts):
        await rig.code(account_id, client_id)
    assert len(await rig.tokens.list(account_id)) == 1
    await rig.code(other, client_id)


async def test_grant_keeps_the_name_that_its_program_had(rig: OAuthRig) -> None:
    account_id = await account(rig)
    made = await rig.clients.register(PROGRAM)
    client_id = made.client.client_id
    await rig.code(account_id, client_id)
    document = {**PROGRAM, "client_id": client_id, "client_name": "Another name"}
    await rig.clients.change(client_id, made.management_token, document)
    await rig.code(account_id, client_id)
    names = [grant.client_name for grant in await rig.tokens.list(account_id)]
    assert names == ["Another name", "An assistant"]


async def test_code_that_was_not_exchanged_yet_keeps_its_grant(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    code = await rig.code(account_id, client_id)
    assert not await rig.identity.store.write(oauth_grants.expire(int(START * 1000)))
    await rig.exchange(client_id, code)


@pytest.mark.parametrize("end", ["by the person", "by a replay", "for another", "by the program"])
async def test_other_processes_are_notified_of_a_grant_that_ends(
    postgres_url: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_grants, "MAX_GRANTS", 1)
    async with open_postgres(postgres_url, random=Random(1).random) as store:
        rig = OAuthRig(IdentityFixture(store))
        account_id = await account(rig)
        made = await rig.clients.register(PROGRAM)
        client_id = made.client.client_id
        code = await rig.code(account_id, client_id)
        await rig.exchange(client_id, code)
        [grant] = await rig.tokens.list(account_id)
        async with store.listen(CHANNEL) as messages:
            if end == "by the person":
                assert await rig.tokens.end(account_id, grant.grant_id, remote_address=None)
            elif end == "by a replay":
                await refused(rig.exchange(client_id, code))
            elif end == "for another":
                await rig.code(account_id, client_id)
            else:
                await rig.clients.remove(client_id, made.management_token)
            with trio.fail_after(10):
                heard = await anext(messages)
        assert isinstance(heard, str)
        assert read_notice(heard) == AccessNotice(account_id)


async def test_program_that_renews_all_the_time_has_a_limited_number_of_tokens(
    rig: OAuthRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_grants, "MAX_TOKENS", 3)
    account_id = await account(rig)
    client_id, first = await rig.connected(account_id)
    made = [first]
    for number in range(1, 8):
        rig.identity.sources.time = START + number
        made.append(await rig.renew(client_id, made[-1].refresh))
    rows = await rig.identity.rows("SELECT kind FROM oauth_tokens")
    assert sorted(row[0] for row in rows) == ["access"] * 3 + ["refresh"] * 4
    rig.identity.credentials.forget(account_id)
    assert [await is_valid(rig, each) for each in made] == [False] * 5 + [True] * 3
    # One that is too old to be known is refused; a later one is a replay.
    await refused(rig.renew(client_id, made[0].refresh))
    assert await is_valid(rig, made[-1])
    await refused(rig.renew(client_id, made[-3].refresh))
    assert not await is_valid(rig, made[-1])


async def test_client_id_is_text_of_any_form(rig: OAuthRig) -> None:
    for client_id in (
        "",
        "x",
        "a\0b",
        "é" * 36,
        "0190a0b0-0000-7000-8000-00000000000A",
        "0190a0b0-0000-7000-8000-00000000000g",
        "0190a0b0-0000-7000-8000-0000000000000",
        "0190a0b0-0000-7000-8000",
        "0190a0b000007000800000000000000a",
    ):
        await refused(rig.clients.authenticate(client_id, None), "invalid_client")
        await refused(rig.clients.managed(ClientId(client_id), "a token"), "invalid_client")


async def test_client_id_may_have_every_hexadecimal_digit(rig: OAuthRig) -> None:
    rig.clients._new_id = lambda: "01234567-89ab-7def-8c00-000000000000"
    client_id = await rig.program()
    assert await rig.clients.authenticate(client_id, None) == client_id


async def test_program_without_a_secret_that_sends_one_is_refused(rig: OAuthRig) -> None:
    for client_id in (await rig.program(), "https://client.example/metadata.json"):
        await refused(rig.clients.authenticate(client_id, "a secret"), "invalid_client")
        assert await rig.clients.authenticate(client_id, "") == client_id


async def test_registration_that_is_removed_meanwhile_is_not_changed(rig: OAuthRig) -> None:
    made = await rig.clients.register(PROGRAM)
    client_id, token = made.client.client_id, made.management_token
    rig.identity.store.before_write = partial(rig.clients.remove, client_id, token)
    changed = {**PROGRAM, "client_id": client_id}
    await refused(rig.clients.change(client_id, token, changed), "invalid_client")


async def test_what_has_ended_is_deleted(rig: OAuthRig) -> None:
    account_id = await account(rig)
    await rig.connected(account_id)
    unused = await rig.program()
    now = int((START + 31 * DAY) * 1000)
    store = rig.identity.store
    assert not await store.write(oauth_grants.expire(int(START * 1000)))
    assert len(await rig.tokens.list(account_id)) == 1
    assert not await store.write(oauth_grants.expire(now))
    assert await rig.tokens.list(account_id) == []
    assert not await store.write(oauth_clients.expire(now))
    await refused(rig.clients.find(unused), "invalid_client")


async def test_account_that_was_disabled_meanwhile_allows_nothing(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    disable = "UPDATE accounts SET state = 'disabled'"
    rig.identity.store.before_write = partial(rig.identity.execute, disable)
    with pytest.raises(AccountGone):
        await rig.code(account_id, client_id)
    assert await rig.tokens.list(account_id) == []


async def test_removed_program_loses_its_grants(rig: OAuthRig) -> None:
    account_id = await account(rig)
    made = await rig.clients.register(
        {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post"}
    )
    client_id = made.client.client_id
    assert made.secret
    assert await rig.clients.authenticate(client_id, made.secret) == client_id
    await refused(rig.clients.authenticate(client_id, None), "invalid_client")
    await refused(rig.clients.authenticate(client_id, "x"), "invalid_client")
    tokens = await rig.exchange(client_id, await rig.code(account_id, client_id))
    await refused(rig.clients.remove(client_id, "wrong"), "invalid_client")
    assert await is_valid(rig, tokens)
    await rig.clients.remove(client_id, made.management_token)
    assert not await is_valid(rig, tokens)
    entry = rig.identity.audited[-1]
    assert (entry.kind, entry.detail["reason"]) == ("grant_revoked", "program_removed")
    await refused(rig.clients.find(client_id), "invalid_client")


async def test_registration_changes_keep_or_replace_the_secret(rig: OAuthRig) -> None:
    made = await rig.clients.register({"redirect_uris": [CALLBACK]})
    client_id, token = made.client.client_id, made.management_token
    changed = {"client_id": client_id, "redirect_uris": [CALLBACK], "client_name": "New"}
    again = await rig.clients.change(client_id, token, changed)
    assert (again.secret, again.client.metadata.name) == (None, "New")
    assert again.client.secret_digest == made.client.secret_digest
    public = await rig.clients.change(
        client_id, token, {**changed, "token_endpoint_auth_method": "none"}
    )
    assert public.client.secret_digest is None
    secret = await rig.clients.change(client_id, token, changed)
    assert secret.secret not in (None, made.secret)
    await refused(
        rig.clients.change(client_id, token, {**changed, "client_id": ClientId("x")}),
        "invalid_client_metadata",
    )
    assert await rig.clients.find(client_id) == replace(secret.client)


async def test_scope_that_is_offered_no_more_is_left_out_of_new_tokens(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id, tokens = await rig.connected(account_id)
    assert tokens.scopes == ALL
    reading = OAuthRig(rig.identity, write=False)
    await refused(reading.renew(client_id, tokens.refresh, "notes:write"), "invalid_scope")
    renewed = await reading.renew(client_id, tokens.refresh)
    caller = await rig.access_tokens.caller(renewed.access.encode())
    assert caller is not None
    assert caller.scopes == renewed.scopes
    assert renewed.scopes == {READ}
    # The person allowed it, so that it is back when it is offered again.
    assert (await rig.renew(client_id, renewed.refresh)).scopes == ALL


def asked(client_id: ClientId, **more: str) -> dict[str, str]:
    """The parameters of a request for access that names no address."""
    return {
        "response_type": "code",
        "client_id": client_id,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        **more,
    }


async def test_person_allows_no_more_than_the_program_asked_for(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    address = await rig.authorization.allow(
        account_id, asked(client_id, scope=READ), AccessLimits(ALL), None, remote_address=None
    )
    [code] = parse_qs(urlsplit(address).query)["code"]
    # A program that named no address in its request names none here.
    tokens = await rig.tokens.exchange(
        client_id, code, verifier=VERIFIER, redirect_uri=None, resource=None
    )
    assert tokens.scopes == {READ}
    [grant] = await rig.tokens.list(account_id)
    assert grant.limits == AccessLimits(frozenset[Scope]({READ}))


async def test_program_that_named_no_address_may_name_its_only_one_for_the_code(
    rig: OAuthRig,
) -> None:
    client_id = await rig.program()
    address = await rig.authorization.allow(
        await account(rig), asked(client_id), AccessLimits(ALL), None, remote_address=None
    )
    [code] = parse_qs(urlsplit(address).query)["code"]
    assert (await rig.exchange(client_id, code)).scopes == {READ}
