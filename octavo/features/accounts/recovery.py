"""Let the operator give somebody a new password without mail."""

from octavo.access.audit import command_audit
from octavo.access.entropy import jitter, new_entropy, now
from octavo.features.accounts.password_reset import create_reset_token
from octavo.features.mail.sending import usable_address
from octavo.model.access.refusal import AccountMissing
from octavo.settings import Settings
from octavo.store import StoreError
from octavo.store.engine import open_engine
from octavo.store.transaction import NO_LISTENERS


class RecoveryRefused(Exception):
    """No link was created; the text says why, in one line."""


async def recover(settings: Settings, address: str) -> str:
    """Create a token to choose a new password for the account with ``address``; return it.

    Works while a server runs. Raises `UnusableAddress`, and `RecoveryRefused`.
    """
    parsed = usable_address(address)
    try:
        async with open_engine(settings, NO_LISTENERS, random=jitter, serving=False) as engine:
            _, token = await create_reset_token(
                command_audit(engine.store), parsed, now=now, new_token=new_entropy
            )
    except AccountMissing:
        raise RecoveryRefused(f"no account has the address {parsed}") from None
    except StoreError as error:
        raise RecoveryRefused(str(error)) from None
    if token is None:
        raise RecoveryRefused(
            f"the account with the address {parsed} is disabled: an administrator can enable it"
        )
    return token
