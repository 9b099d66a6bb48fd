"""Invite somebody to make an account, as a command does, and the first start of all."""

from octavo.accounts.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.model.accounts.account import Role
from octavo.model.accounts.address import Address
from octavo.model.accounts.invitation import Invitation, InvitationId
from octavo.model.accounts.token import digest_of, opaque_token
from octavo.store import Store
from octavo.store.scripts import accounts, invitations

FIRST_INVITATION_LASTS = 3600.0
"""Seconds that the invitation of the first administrator is good for."""


async def invite(
    store: Store,
    *,
    now: Clock,
    new_id: NewId,
    new_token: NewEntropy,
    role: Role,
    address: Address | None,
    expires_in: float,
    of_start: bool = False,
) -> str:
    """Make an invitation and answer its token, which can't be read again.

    It makes one account with ``role``, and with ``address`` alone unless that is None, within
    ``expires_in`` seconds; one ``of_start`` only as long as there is no account. Raises
    `StoreUnavailable`. Cancelled, an invitation may have been made whose token nobody knows.
    """
    created = milliseconds(now())
    invitation = Invitation(
        InvitationId(new_id()),
        address,
        role,
        created,
        created + milliseconds(expires_in),
        of_start=of_start,
    )
    token = opaque_token(new_token())
    await store.write(invitations.create(invitation, digest_of(token.encode())))
    return token


async def has_accounts(store: Store) -> bool:
    """Return whether the installation has an account, whatever its state.

    Raises `StoreUnavailable`.
    """
    return await store.read(accounts.has_any())
