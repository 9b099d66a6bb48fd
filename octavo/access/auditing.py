"""The audit of a server, and of a command that opens the database itself."""

from antechamber.client_network import client_network

from octavo.access.audit import Audit, AuditLog
from octavo.access.entropy import new_id, now
from octavo.model.access.audit import AuditEntry
from octavo.store import Store


def server_audit(store: Store, log: AuditLog) -> Audit:
    """Return the audit of a server; ``log`` receives each entry after its commit."""
    return Audit(store, now=now, new_id=new_id, network=client_network, log=log)


def command_audit(store: Store) -> Audit:
    """Return the audit of a command, which has no log."""
    return server_audit(store, _unlogged)


def _unlogged(entry: AuditEntry) -> None:
    pass
