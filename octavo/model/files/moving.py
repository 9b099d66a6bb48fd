"""Which changes may move files."""

from __future__ import annotations

from octavo.model.files.changeset import AttachImage, RestoreFile, UpdateFile
from octavo.model.files.plan import Plan

_MOVING = (UpdateFile, AttachImage, RestoreFile)


def may_move(plan: Plan) -> bool:
    """Return whether a plan moves a file, as far as its operations tell."""
    for each in plan.changeset.operations:
        # An earlier text of a live note can be restored at another path.
        if isinstance(each, _MOVING) and each.path is not None:
            return True
    return False
