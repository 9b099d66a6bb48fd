"""Build the whole from the settings, run it, and stop it: the only room that knows everybody."""

from octavo.service.engine import StoreEngine, open_engine
from octavo.service.entropy import new_id
from octavo.service.invitations import InvitationRefused, invite
from octavo.service.running import run, start_log

__all__ = [
    "InvitationRefused",
    "StoreEngine",
    "invite",
    "new_id",
    "open_engine",
    "run",
    "start_log",
]
