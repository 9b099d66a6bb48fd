"""What administrators and the operator decide about an account, and the rules of their changes."""

from dataclasses import dataclass, replace

from octavo.features.accounts.rules.refusal import ControlsChanged
from octavo.model import usage as limits
from octavo.model.access.account import Role, State

LONGEST_REASON = 500
"""Characters of the reason of a lock."""


@dataclass(frozen=True, slots=True)
class Controls:
    """What the operator of the installation allows an account.

    Attributes:
        revision: increases with each change; a change names the revision that it is based on.
        locked: whether the account can use a few operations only.
        lock_reason: why, for the person; None if nothing was said.
        storage: the limit of its files.
        downloads: the limits of what it reads in a month.
        publishing: whether it may publish links, and those that it has published open anything.
    """

    revision: int = 1
    locked: bool = False
    lock_reason: str | None = None
    storage: limits.StorageLimit = limits.NO_STORAGE_LIMIT
    downloads: limits.DownloadLimits = limits.UNLIMITED
    publishing: bool = True


@dataclass(frozen=True, slots=True)
class Decisions:
    """What was decided about an account.

    ``role``, ``state`` and ``storage`` are decided by administrators, ``controls`` by the operator,
    or by an administrator. ``lock_reason`` is why the state is locked; None if nothing was said.
    """

    role: Role
    state: State
    storage: limits.StorageLimit
    controls: Controls
    lock_reason: str | None = None

    @property
    def effective_state(self) -> State:
        """The stricter of the state and the controls."""
        return "locked" if self.state == "enabled" and self.controls.locked else self.state

    @property
    def effective_reason(self) -> str | None:
        """Why the account is locked; None if nothing was said, or it is not."""
        if self.effective_state != "locked":
            return None
        return self.lock_reason or self.controls.lock_reason

    @property
    def administers(self) -> bool:
        """Whether the account is an enabled administrator."""
        return self.role == "administrator" and self.effective_state == "enabled"


@dataclass(frozen=True, slots=True)
class ControlsChange:
    """A change of controls; what is None stays.

    ``revision`` is the revision that was read. An empty reason removes the present one. The two
    limits of downloads are set each on its own.
    """

    revision: int
    locked: bool | None = None
    lock_reason: str | None = None
    storage: limits.StorageLimit | None = None
    download_size: limits.MonthlyLimit | None = None
    download_objects: limits.MonthlyLimit | None = None
    publishing: bool | None = None


@dataclass(frozen=True, slots=True)
class DecisionsChange:
    """A change of decisions; what is None stays. An empty reason removes the present one."""

    role: Role | None = None
    state: State | None = None
    lock_reason: str | None = None
    storage: limits.StorageLimit | None = None
    controls: ControlsChange | None = None


def changed_controls(controls: Controls, change: ControlsChange) -> Controls:
    """Return the controls after a change. Raises `ControlsChanged` for another revision.

    The reason of a lock ends with the lock.
    """
    if change.revision != controls.revision:
        raise ControlsChanged(controls.revision)
    locked = controls.locked if change.locked is None else change.locked
    reason = controls.lock_reason if change.lock_reason is None else change.lock_reason or None
    size, objects = controls.downloads
    return Controls(
        controls.revision + 1,
        locked,
        reason if locked else None,
        controls.storage if change.storage is None else change.storage,
        limits.DownloadLimits(
            size if change.download_size is None else change.download_size.maximum,
            objects if change.download_objects is None else change.download_objects.maximum,
        ),
        controls.publishing if change.publishing is None else change.publishing,
    )


def changed(decisions: Decisions, change: DecisionsChange) -> Decisions:
    """Return the decisions after a change. Raises `ControlsChanged`.

    The reason of a lock ends with the lock.
    """
    controls = decisions.controls
    state = change.state or decisions.state
    reason = decisions.lock_reason if change.lock_reason is None else change.lock_reason or None
    if change.controls is not None:
        controls = changed_controls(controls, change.controls)
    return replace(
        decisions,
        role=change.role or decisions.role,
        state=state,
        lock_reason=reason if state == "locked" else None,
        storage=decisions.storage if change.storage is None else change.storage,
        controls=controls,
    )
