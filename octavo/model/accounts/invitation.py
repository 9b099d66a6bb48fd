"""Invitations, each for the registration of one account."""

from dataclasses import dataclass
from typing import NewType

from octavo.model.accounts.account import Role
from octavo.model.accounts.address import Address

InvitationId = NewType("InvitationId", str)


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation as stored; times are in milliseconds of Unix time.

    Attributes:
        address: the only address that may use it; None for any.
        role: the role of the account.
        used_at: None if it is unused.
        revoked_at: None if it is not revoked.
        of_start: whether a start without accounts created it; the first account revokes it.
    """

    invitation_id: InvitationId
    address: Address | None
    role: Role
    created_at: int
    expires_at: int
    used_at: int | None = None
    revoked_at: int | None = None
    of_start: bool = False

    def open_at(self, now: int) -> bool:
        """Return whether it is valid at ``now``."""
        return self.used_at is None and self.revoked_at is None and now < self.expires_at

    def admits(self, address: Address, now: int) -> bool:
        """Return whether an account with ``address`` can be registered with it at ``now``."""
        return self.open_at(now) and self.address in (None, address)
