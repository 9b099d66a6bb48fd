"""What people do with programs: allow them access and end it; and what programs do with it."""

from random import Random

from octavo.features.oauth.authorization import IssuedTokens
from octavo.features.oauth.rules.refusal import OAuthRefusal
from octavo.model.access.account import ClientId, GrantId
from octavo.model.access.audit import AuditKind
from octavo.model.access.token import digest_of
from tests.features.accounts.simulation.account_acts import ready
from tests.features.accounts.simulation.deeds import Credential
from tests.features.accounts.simulation.process import IdentityProcess
from tests.features.accounts.simulation.town import PROGRAMS, Family, Person, Town

RECENT = 4
MANY_ENDED: tuple[AuditKind, ...] = ("grant_revoked",) * 50
"""The entries of the end of a program, at most."""


async def allow(town: Town, person: Person, random: Random) -> None:
    """Allow a program access, which then has a code."""
    if not town.programs:
        return
    client_id, _ = random.choice(town.programs)

    async def act(process: IdentityProcess, remote_address: str) -> None:
        account_id = ready(person)
        code = await process.oauth.code(account_id, client_id, remote_address=remote_address)
        digest = digest_of(code.encode())
        stored = (each.state.secrets.get(digest) for each in reversed(town.deeds.steps()))
        grant_id = next(each.grant_id for each in stored if each is not None)
        town.families.append(Family(person, client_id, account_id, GrantId(grant_id), code))

    await town.deeds.attempt(random, "allow", ("grant_created",), act)


async def exchange(town: Town, person: Person, random: Random) -> None:
    """Exchange a code for tokens, perhaps one that was exchanged before."""
    if town.families:
        family = random.choice(town.families[-RECENT:])
        await _use(town, random, family, family.code)


async def renew(town: Town, person: Person, random: Random) -> None:
    """Renew tokens, perhaps with a refresh token that was used before."""
    families = [each for each in town.families if each.renewals][-RECENT:]
    if families:
        family = random.choice(families)
        await _use(town, random, family, random.choice(family.renewals[-2:]))


async def steal(town: Town, person: Person, random: Random) -> None:
    """Use the code or the refresh token of another program, which changes nothing."""
    if not town.families or not town.programs:
        return
    family = random.choice(town.families[-RECENT:])
    thief, _ = random.choice(town.programs)
    if thief == family.client_id:
        return
    secret = random.choice([family.code, *family.renewals[-1:]])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await _tokens(process, thief, family, secret, remote_address)
        town.deeds.violated("another program got tokens")

    await town.deeds.attempt(random, "steal", (), act)


async def end_access(town: Town, person: Person, random: Random) -> None:
    """End the access of a program, after a use of it."""
    own = [each for each in town.families if each.person is person]
    if not own:
        return
    family = random.choice(own[-RECENT:])

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        await _show(process, family)
        await process.oauth.tokens.end(
            family.account_id, family.grant_id, remote_address=remote_address
        )
        return True

    if await town.deeds.attempt(random, "end access", ("grant_revoked",), act, silent=True):
        await town.end_family(family, "its revocation")


async def revoke_token(town: Town, person: Person, random: Random) -> None:
    """End tokens as the program: one access token, or all by a refresh token."""
    families = [each for each in town.families if each.renewals][-RECENT:]
    if not families:
        return
    family = random.choice(families)
    token = random.choice(family.tokens)
    secret = random.choice([token.secret, family.renewals[-1]])
    if secret in family.revoked:
        return
    family.revoked.add(secret)

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        await _show(process, family)
        await process.oauth.tokens.revoke(family.client_id, secret, remote_address=remote_address)
        return True

    deeds = town.deeds
    if await deeds.attempt(random, "revoke token", ("grant_revoked",), act, silent=True):
        state = deeds.steps()[-1].state
        if digest_of(secret.encode()) in state.secrets:
            deeds.violated("a token remains after its revocation")
        # If the grant is gone, another attempt may have ended it that nobody was told of yet.
        if secret == token.secret and family.grant_id in state.grants:
            await deeds.end([token], "its revocation")


async def uninstall(town: Town, person: Person, random: Random) -> None:
    """Remove a program with all that it was allowed, or register a new one."""
    if len(town.programs) < PROGRAMS:

        async def install(process: IdentityProcess, remote_address: str) -> None:
            await town.install(process)

        await town.deeds.attempt(random, "install", (), install)
        return
    client_id, management_token = program = random.choice(town.programs)

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        await process.oauth.clients.remove(
            client_id, management_token, remote_address=remote_address
        )
        return True

    if await town.deeds.attempt(random, "uninstall", MANY_ENDED, act, silent=True):
        if program in town.programs:
            town.programs.remove(program)
        for family in town.families:
            if family.client_id == client_id:
                await town.end_family(family, "the removal of its program")


async def _use(town: Town, random: Random, family: Family, secret: str) -> None:
    """Use a code or a refresh token, after a use of the access token."""
    what, name = ("code", "exchange") if secret == family.code else ("refresh token", "renew")
    replayed, ended = secret in family.used, family.ended
    clients = []

    async def act(process: IdentityProcess, remote_address: str) -> IssuedTokens | OAuthRefusal:
        clients.append(remote_address)
        await _show(process, family)
        try:
            return await _tokens(process, family.client_id, family, secret, remote_address)
        except OAuthRefusal as refusal:
            # A refused replay is recorded as the end of the grant.
            return refusal

    deeds = town.deeds
    result = await deeds.attempt(random, name, ("grant_revoked",), act, silent=True)
    if isinstance(result, OAuthRefusal):
        deeds.sights.add(f"{name}: {result.code}")
        if replayed:
            deeds.sights.add(f"{name}: replayed")
            steps = deeds.steps()
            if family.grant_id in steps[-1].state.grants:
                deeds.violated(f"a grant remains after the replay of a {what}")
            # Otherwise another attempt, which nobody was told of yet, may have ended it.
            if any(entry.client in clients for step in steps for entry in step.entries):
                await town.end_family(family, f"the replay of a {what}")
    elif result is not None:
        if secret in family.used:
            deeds.violated(f"a {what} gave tokens twice")
        if ended:
            deeds.violated(f"a {what} gave tokens after {ended}")
        token = Credential("token", family.grant_id, family.account_id, result.access)
        family.used.add(secret)
        family.renewals.append(result.refresh)
        family.tokens.append(token)
        family.person.credentials.append(token)
        if family.ended:
            await deeds.end([token], family.ended)


async def _tokens(
    process: IdentityProcess, client_id: ClientId, family: Family, secret: str, remote_address: str
) -> IssuedTokens:
    """Ask for tokens as a program. Raises `OAuthRefusal`."""
    await process.oauth.clients.authenticate(client_id, None)
    ask = process.oauth.exchange if secret == family.code else process.oauth.renew
    return await ask(client_id, secret, remote_address=remote_address)


async def _show(process: IdentityProcess, family: Family) -> None:
    """Use the newest access token, so that the process caches it."""
    for token in family.tokens[-1:]:
        await process.oauth.access_tokens.caller(token.secret.encode())
