"""The menus of the pages: entries that features add, in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from octavo.model.workspace import Right, Role, grants

Place = Literal["site", "account", "administration", "workspace", "notes"]
"""The bar of every page, the tabs of an account, of the administration and of a workspace, and what
stands below the tree of its notes."""


WORKSPACE = "/workspaces/{workspace}"
"""The path of a workspace in an entry; its id replaces the braces."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who sees a menu, and where.

    Attributes:
        account_role: that of the account; None for a stranger.
        role: that of the account in the workspace; None outside of one.
        path: the path of the page, or of the one that its tab leads to.
        provided: the global names of the templates; features provide some of them.
    """

    account_role: str | None
    role: Role | None
    path: str
    provided: Mapping[str, object] = field(default_factory=dict)


def everybody(_: Viewer) -> bool:
    """Show an entry to all who see the menu."""
    return True


def signed_out(viewer: Viewer) -> bool:
    """Show an entry to people who are not signed in."""
    return viewer.account_role is None


def signed_in(viewer: Viewer) -> bool:
    """Show an entry to people who are signed in."""
    return viewer.account_role is not None


def administrators(viewer: Viewer) -> bool:
    """Show an entry to administrators of the installation."""
    return viewer.account_role == "administrator"


def members_with(right: Right) -> Callable[[Viewer], bool]:
    """Show an entry to members of the workspace who have a right."""
    return lambda viewer: viewer.role is not None and grants(viewer.role, right)


def where_provided(name: str) -> Callable[[Viewer], bool]:
    """Show an entry where the templates have a global ``name`` that is true.

    Features set them with `PageRegistry.provide`.
    """
    return lambda viewer: bool(viewer.provided.get(name))


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of a menu.

    Attributes:
        place: the menu.
        path: where it leads; see `WORKSPACE`.
        order: the entries of a menu are sorted by it; no two have the same.
        shown_to: returns whether somebody sees it.
        access_key: the key that opens it.
    """

    place: Place
    label: str
    path: str
    order: int
    shown_to: Callable[[Viewer], bool] = everybody
    access_key: str = ""


class MenuLink(NamedTuple):
    """An entry as somebody sees it."""

    path: str
    label: str
    access_key: str


def in_order(entries: Iterable[MenuEntry]) -> tuple[MenuEntry, ...]:
    """Return entries in their order; raise ValueError if two have the same place and order."""
    ordered = sorted(entries, key=lambda entry: entry.order)
    for (place, order), count in Counter((entry.place, entry.order) for entry in ordered).items():
        if count > 1:
            labels = [
                entry.label for entry in ordered if (entry.place, entry.order) == (place, order)
            ]
            raise ValueError(f"menu {place}: {labels} have the same order, {order}")
    return tuple(ordered)


def links_of(
    menu: Sequence[MenuEntry], place: Place, viewer: Viewer, workspace_id: str
) -> list[MenuLink]:
    """Return the entries of a place that somebody sees."""
    return [
        MenuLink(entry.path.replace("{workspace}", workspace_id), entry.label, entry.access_key)
        for entry in menu
        if entry.place == place and entry.shown_to(viewer)
    ]
