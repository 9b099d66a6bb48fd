"""Events after a commit, for what is cached in the process and for tasks that wait.

Listeners are called in the order in which they were added. They return at once and never raise. A
crash may skip them, so they only wake a task or forget what is cached. Other processes learn of the
same changes by notifications of the database.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, ParamSpec

from octavo_rules.identity import AccountId, Cursor, WorkspaceId

P = ParamSpec("P")


class Event(Generic[P]):
    """Calls its listeners when it is called."""

    def __init__(self) -> None:
        self._listeners: list[Callable[P, object]] = []

    def listen(self, *listeners: Callable[P, object]) -> None:
        """Add listeners, which are called after those that were added before."""
        self._listeners += listeners

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call the listeners."""
        for listener in self._listeners:
            listener(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class AfterCommit:
    """The events after a commit.

    Attributes:
        committed: a changeset of a workspace, which is at the cursor now.
        account_changed: the role, state, limits, credentials or memberships of an account.
        workspace_changed: the members of a workspace, or that it was deleted.
        workspace_gone: a workspace was deleted; `workspace_changed` comes before it.
        erased: texts were purged, or an account or a workspace removed; the rows are still there.
        swept: nothing is left of what was erased.
    """

    committed: Event[[WorkspaceId, Cursor]] = field(default_factory=Event)
    account_changed: Event[[AccountId]] = field(default_factory=Event)
    workspace_changed: Event[[WorkspaceId]] = field(default_factory=Event)
    workspace_gone: Event[[WorkspaceId]] = field(default_factory=Event)
    erased: Event[[]] = field(default_factory=Event)
    swept: Event[[]] = field(default_factory=Event)

    def access_changed(self, account_id: AccountId, workspace_id: WorkspaceId | None) -> None:
        """Call the listeners of an account whose access may have changed, and of a workspace.

        ``workspace_id`` is the workspace where its role may have changed; None for no workspace.
        """
        if workspace_id is not None:
            self.workspace_changed(workspace_id)
        self.account_changed(account_id)

    def deleted(self, workspace_id: WorkspaceId) -> None:
        """Call the listeners of a workspace that was deleted."""
        self.workspace_changed(workspace_id)
        self.workspace_gone(workspace_id)
        self.erased()
