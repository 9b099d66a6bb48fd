"""Menus are what features add to them, in one order."""

import pytest

from octavo.http.pages.menus import (
    WORKSPACE,
    MenuEntry,
    MenuLink,
    Viewer,
    administrators,
    in_order,
    links_of,
    members_with,
    signed_in,
    signed_out,
    where_provided,
)

READER = Viewer("member", "reader", "")
STRANGER = Viewer(None, None, "")


def labels_of(entries: list[MenuEntry], viewer: Viewer) -> list[str]:
    return [each.label for each in links_of(in_order(entries), "site", viewer, "")]


def test_entries_stand_in_their_order_and_place() -> None:
    entries = in_order(
        [
            MenuEntry("notes", "Last", f"{WORKSPACE}/last", 20, access_key="l"),
            MenuEntry("site", "Elsewhere", "/", 10),
            MenuEntry("notes", "First", "/first", 10),
        ]
    )
    assert links_of(entries, "notes", READER, "the-id") == [
        MenuLink("/first", "First", ""),
        MenuLink("/workspaces/the-id/last", "Last", "l"),
    ]


def test_two_entries_of_a_menu_with_one_order_are_refused() -> None:
    entries = [MenuEntry("site", name, "/", 10) for name in ("Tea", "Coffee")]
    with pytest.raises(ValueError, match=r"menu site: \['Tea', 'Coffee'\] have the same order, 10"):
        in_order(entries)


def test_entries_are_shown_to_whom_they_are_for() -> None:
    entries = [
        MenuEntry("site", "all", "/", 1),
        MenuEntry("site", "signed in", "/", 2, signed_in),
        MenuEntry("site", "signed out", "/", 3, signed_out),
        MenuEntry("site", "administrators", "/", 4, administrators),
        MenuEntry("site", "readers", "/", 5, members_with("read")),
        MenuEntry("site", "writers", "/", 6, members_with("write")),
    ]
    assert labels_of(entries, STRANGER) == ["all", "signed out"]
    assert labels_of(entries, READER) == ["all", "signed in", "readers"]
    administrator = Viewer("administrator", None, "")
    assert labels_of(entries, administrator) == ["all", "signed in", "administrators"]


@pytest.mark.parametrize(
    ("provided", "shown"), [({}, []), ({"teas": ()}, []), ({"teas": (1,)}, ["tea"])]
)
def test_entry_is_shown_where_a_feature_provides_something(
    provided: dict[str, object], shown: list[str]
) -> None:
    entries = [MenuEntry("site", "tea", "/", 1, where_provided("teas"))]
    assert labels_of(entries, Viewer("member", None, "", provided)) == shown
