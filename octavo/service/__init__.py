"""Build the service from its settings, run it, and stop it.

What the names here need is loaded on first access: the server takes most of a second, and a command
needs little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.access.entropy import new_id
    from octavo.features.archives.commands.transfer_reports import (
        ImportReport,
        ServerAccess,
        TransferFailed,
    )
    from octavo.features.archives.commands.workspace_transfers import WorkspaceTransfers
    from octavo.features.mail.feature import (
        MailNotSent,
        RecoveryRefused,
        UnusableAddress,
        recover,
        send_test_message,
    )
    from octavo.features.members.invitations_of_terminal import (
        InvalidAddress,
        InvitationRefused,
        invite,
    )
    from octavo.service.running import run, start_log
    from octavo.store.engine import StoreEngine, open_engine

_MODULES = {
    "StoreEngine": "octavo.store.engine",
    "InvalidAddress": "octavo.features.members.invitations_of_terminal",
    "InvitationRefused": "octavo.features.members.invitations_of_terminal",
    "invite": "octavo.features.members.invitations_of_terminal",
    "MailNotSent": "octavo.features.mail.feature",
    "RecoveryRefused": "octavo.features.mail.feature",
    "UnusableAddress": "octavo.features.mail.feature",
    "recover": "octavo.features.mail.feature",
    "send_test_message": "octavo.features.mail.feature",
    "new_id": "octavo.access.entropy",
    "open_engine": "octavo.store.engine",
    "run": "octavo.service.running",
    "start_log": "octavo.service.running",
    "ImportReport": "octavo.features.archives.commands.transfer_reports",
    "ServerAccess": "octavo.features.archives.commands.transfer_reports",
    "TransferFailed": "octavo.features.archives.commands.transfer_reports",
    "WorkspaceTransfers": "octavo.features.archives.commands.workspace_transfers",
}

__all__ = [
    "ImportReport",
    "InvalidAddress",
    "InvitationRefused",
    "MailNotSent",
    "RecoveryRefused",
    "ServerAccess",
    "StoreEngine",
    "TransferFailed",
    "UnusableAddress",
    "WorkspaceTransfers",
    "invite",
    "new_id",
    "open_engine",
    "recover",
    "run",
    "send_test_message",
    "start_log",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
