"""Create invitations, for a command and for the first start of an installation."""

from octavo.accounts.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.model.accounts.account import Role
from octavo.model.accounts.address import Address
from octavo.model.accounts.invitation import Invitation, InvitationId
from octavo.model.accounts.token import digest_of, opaque_token
from octavo.store import Store
from octavo.store.scripts import accounts, invitations

FIRST_INVITATION_LASTS = 3600.0
"""Seconds for which the invitation of the first administrator is valid."""


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
    """Create an invitation and return its token, which is not stored.

    The invitation is for one account with ``role``, and with ``address`` unless that is None, and
    is valid for ``expires_in`` seconds; one ``of_start`` only while there is no account. Raises
    `StoreUnavailable`. If cancelled, an invitation whose token is lost may have been created.
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
    """Return whether the installation has an account in any state.

    Raises `StoreUnavailable`.
    """
    return await store.read(accounts.has_any())
