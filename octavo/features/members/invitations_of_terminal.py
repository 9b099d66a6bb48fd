"""Invitations from the terminal: on demand, and the one of the first start."""

from octavo.access.attempts import Attempts
from octavo.access.audit import Audit, command_audit
from octavo.access.entropy import jitter, new_entropy, new_id, now
from octavo.access.ports import milliseconds
from octavo.cli.output import Failed
from octavo.features.members.invitations import Invitations
from octavo.model.access.account import Address
from octavo.settings import KernelSettings
from octavo.store import Store, StoreError
from octavo.store.engine import open_engine
from octavo.store.queries.accounts import has_any
from octavo.store.transaction import NO_LISTENERS

FIRST_INVITATION_LASTS = 3600.0
"""Seconds for which the invitation of the first administrator is valid."""


async def invite(settings: KernelSettings, *, administrator: bool, address: Address | None) -> str:
    """Create an invitation, to an account of an ``administrator`` if so, and return its token.

    Works while a server runs. Only ``address``, if there is one, can register with it. Raises
    `Failed`.
    """
    try:
        async with open_engine(settings, NO_LISTENERS, random=jitter, serving=False) as engine:
            _, token = await _invitations(engine.store, command_audit(engine.store)).create(
                None, role="administrator" if administrator else "member", address=address
            )
    except StoreError as error:
        raise Failed(str(error)) from None
    return token


async def first_invitation(store: Store, audit: Audit) -> str | None:
    """Return the token of an invitation for the first administrator; None when there are accounts.

    ``audit`` records it. Raises `StoreUnavailable`.
    """
    if await store.read(has_any()):
        return None
    _, token = await _invitations(store, audit).create(
        None,
        role="administrator",
        expires_at=milliseconds(now() + FIRST_INVITATION_LASTS),
        of_start=True,
    )
    return token


def _invitations(store: Store, audit: Audit) -> Invitations:
    return Invitations(
        store, Attempts(), audit=audit, now=now, new_id=new_id, new_token=new_entropy
    )
