"""Build the whole from the settings, run it, and stop it: the only room that knows everybody."""

from octavo.service.chance import new_id
from octavo.service.engine import Engine, open_engine
from octavo.service.inviting import InvitationRefused, invite
from octavo.service.running import run, start_log

__all__ = [
    "Engine",
    "InvitationRefused",
    "invite",
    "new_id",
    "open_engine",
    "run",
    "start_log",
]
