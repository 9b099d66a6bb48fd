"""Invitations from the terminal, made beside a running server, and the one of the first start."""

from pathlib import Path
from typing import Literal

import pytest

from octavo.access.entropy import jitter, now
from octavo.access.ports import milliseconds
from octavo.cli.output import Failed
from octavo.features.members.invitations_of_terminal import first_invitation, invite
from octavo.features.members.sql.invitations import by_digest
from octavo.model.access.account import Address
from octavo.model.access.token import digest_of
from octavo.service.settings import Settings
from octavo.store.engine import open_engine
from octavo.store.transaction import NO_LISTENERS
from tests.fakes.identity_fixture import IdentityFixture

ANN = Address("ann@example.org")


@pytest.mark.parametrize(("administrator", "role"), [(True, "administrator"), (False, "member")])
async def test_command_invites_beside_the_server(
    tmp_path: Path, administrator: bool, role: Literal["administrator", "member"]
) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    async with open_engine(settings, NO_LISTENERS, random=jitter, serving=True) as engine:
        token = await invite(settings, administrator=administrator, address=ANN)
        made = await engine.store.read(by_digest(digest_of(token.encode())))
    assert made is not None
    assert (made.role, made.address, made.created_by, made.of_start) == (role, ANN, None, False)


async def test_command_without_an_installation_says_why(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="no installation is in"):
        await invite(Settings(data_dir=tmp_path), administrator=False, address=None)


async def test_invitation_of_the_first_start_is_for_an_administrator_within_an_hour(
    identity: IdentityFixture,
) -> None:
    earliest = milliseconds(now() + 3_600)
    token = await first_invitation(identity.store, identity.audit)
    assert token is not None
    made = await identity.store.read(by_digest(digest_of(token.encode())))
    assert made is not None
    assert (made.role, made.created_by, made.of_start) == ("administrator", None, True)
    assert earliest <= made.expires_at <= milliseconds(now() + 3_600)
