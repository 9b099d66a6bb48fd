"""Build the service from its settings, run it, and stop it.

What the names here need is loaded on first access: the server takes most of a second, and a command
needs little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.access.entropy import new_id
    from octavo.service.invitations import InvalidAddress, InvitationRefused, invite
    from octavo.service.mail import (
        MailNotSent,
        RecoveryRefused,
        UnusableAddress,
        recover,
        send_test_message,
    )
    from octavo.service.running import run, start_log
    from octavo.service.transfer_reports import ImportReport, ServerAccess, TransferFailed
    from octavo.service.workspace_transfers import WorkspaceTransfers
    from octavo.store.engine import StoreEngine, open_engine

_MODULES = {
    "StoreEngine": "store.engine",
    "InvalidAddress": "service.invitations",
    "InvitationRefused": "service.invitations",
    "invite": "service.invitations",
    "MailNotSent": "service.mail",
    "RecoveryRefused": "service.mail",
    "UnusableAddress": "service.mail",
    "recover": "service.mail",
    "send_test_message": "service.mail",
    "new_id": "access.entropy",
    "open_engine": "store.engine",
    "run": "service.running",
    "start_log": "service.running",
    "ImportReport": "service.transfer_reports",
    "ServerAccess": "service.transfer_reports",
    "TransferFailed": "service.transfer_reports",
    "WorkspaceTransfers": "service.workspace_transfers",
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
        return getattr(import_module(f"octavo.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
