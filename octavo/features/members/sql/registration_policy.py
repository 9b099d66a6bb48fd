"""Read and change the settings of the installation, and register accounts by its policy."""

from octavo_rules.identity import AccountId

from octavo.features.accounts.rules.refusal import AddressTaken, InvitationUnusable
from octavo.features.accounts.rules.session import Session
from octavo.features.accounts.sql import accounts, sessions
from octavo.features.members.rules import Prerequisites, RegistrationPolicy
from octavo.model.access.account import Account
from octavo.store.transaction import Script, Transaction


def chosen_policy() -> Script[RegistrationPolicy]:
    """Return the registration policy that administrators chose."""
    return _chosen


def choose_policy(policy: RegistrationPolicy, actor: AccountId) -> Script[None]:
    """Change the registration policy for an administrator. Raises `NotAdministrator`."""

    async def replace_policy(transaction: Transaction) -> None:
        await accounts.require_administrator(transaction, actor)
        await transaction.execute("UPDATE installation SET registration_policy = $1", policy)

    return replace_policy


def register_openly(
    prerequisites: Prerequisites, account: Account, encoded: str, session: Session, token: bytes
) -> Script[None]:
    """Create an account without an invitation, with its first session.

    ``encoded`` is its password, ``token`` the digest of the session's token. Raises
    `InvitationUnusable` unless the policy is open, and `AddressTaken`.
    """

    async def insert_account(transaction: Transaction) -> None:
        if prerequisites.effective(await _chosen(transaction)) != "open":
            raise InvitationUnusable
        if not await accounts.insert(transaction, account, encoded, proven=False):
            raise AddressTaken
        await sessions.insert(transaction, session, token)

    return insert_account


async def _chosen(transaction: Transaction) -> RegistrationPolicy:
    row = await transaction.fetch_one("SELECT registration_policy FROM installation")
    return "open" if row is not None and row[0] == "open" else "invitation"
