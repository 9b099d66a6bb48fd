"""Invitations from the terminal: on demand, and the one of the first start."""

from octavo.access.audit import Audit, command_audit
from octavo.access.entropy import jitter, new_entropy, new_id, now
from octavo.features.members import invitations
from octavo.features.members.rules import INVITATION_SECONDS
from octavo.model.access.account import parse_address
from octavo.settings import KernelSettings
from octavo.store import Store, StoreError
from octavo.store.engine import open_engine
from octavo.store.transaction import NO_LISTENERS


class InvitationRefused(Exception):
    """No invitation was created; the text says why, in one line."""


class InvalidAddress(InvitationRefused):
    """The address that was given for the invitation is invalid."""


async def invite(settings: KernelSettings, *, administrator: bool, address: str | None) -> str:
    """Create an invitation, to an account of an ``administrator`` if so, and return its token.

    Works while a server runs. Only ``address``, if there is one, can register with it.
    Raises `InvitationRefused`, and `InvalidAddress` for an invalid ``address``.
    """
    try:
        parsed = None if address is None else parse_address(address)
    except ValueError as error:
        sentence = str(error)
        raise InvalidAddress(f"{sentence[0].lower()}{sentence[1:].removesuffix('.')}") from None
    try:
        async with open_engine(settings, NO_LISTENERS, random=jitter, serving=False) as engine:
            return await invitations.invite(
                command_audit(engine.store),
                now=now,
                new_id=new_id,
                new_token=new_entropy,
                role="administrator" if administrator else "member",
                address=parsed,
                expires_in=INVITATION_SECONDS,
            )
    except StoreError as error:
        raise InvitationRefused(str(error)) from None


async def first_invitation(store: Store, audit: Audit) -> str | None:
    """Return the token of an invitation for the first administrator; None when there are accounts.

    ``audit`` records it. Raises `StoreUnavailable`.
    """
    if await invitations.has_accounts(store):
        return None
    return await invitations.invite(
        audit,
        now=now,
        new_id=new_id,
        new_token=new_entropy,
        role="administrator",
        address=None,
        expires_in=invitations.FIRST_INVITATION_LASTS,
        of_start=True,
    )
