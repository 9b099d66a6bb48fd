"""The pages in a real browser: they fit, are readable and accessible, and tell whole stories."""

import json
import re
from collections.abc import Iterator
from typing import Literal

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import title_is
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.e2e.browser import missing, show
from tests.e2e.browsing import (
    NARROW,
    ORIGIN,
    PAGES,
    PAGES_OF_LONG_NAMES,
    WIDE,
    PageSite,
    field,
    fill_in,
    follow,
    heading,
    message,
    page_site,
    press,
    publish,
    sign_out,
    wait_for_focus,
    with_long_names,
)
from tests.e2e.page_checks import (
    AXE_CORE,
    accessibility_faults,
    fit,
    fitting,
    look,
    measured,
    readable,
)
from tests.e2e.people import PASSWORD, invite
from tests.e2e.server import PATIENCE

Scheme = Literal["light", "dark"]
BLACK = "rgba(0, 0, 0, 1)"
NEW_PASSWORD = "sailing past nine lighthouses"


@pytest.fixture(scope="module")
def site() -> Iterator[PageSite]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with page_site() as made:
        yield made


@pytest.fixture(scope="module")
def crowded(site: PageSite) -> PageSite:
    return with_long_names(site)


VISIBLE = """
    return [...document.querySelectorAll(arguments[0])].filter((each) => each.checkVisibility())
        .map((each) => each.outerHTML.slice(0, 200))
"""
"""The visible elements of a selector."""


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE_CORE.is_file():
        pytest.skip(
            "ACCESSIBILITY IS NOT TESTED: axe-core is missing. Run make test, which installs it."
        )
    return AXE_CORE.read_text()


@pytest.mark.parametrize(("person", "path"), PAGES)
def test_page_is_readable_accessible_and_fits_every_window(
    site: PageSite, axe: str, person: str, path: str
) -> None:
    site.become(person)
    page = site.open(path, NARROW, "dark")
    assert look(page) == readable(NARROW, "dim")
    assert accessibility_faults(page, axe) == []
    site.resize(WIDE)
    site.emulate("", prefers_color_scheme="light")
    assert look(page) == readable(WIDE, "bright")
    assert accessibility_faults(page, axe) == []
    page.execute_script("document.querySelectorAll('details').forEach((each) => each.open = true)")
    for width in (NARROW, 480, 640):
        site.resize(width)
        assert fit(page) == fitting(width)
    site.enlarge_text()
    for width in (640, 480, NARROW):
        site.resize(width)
        assert fit(page) == fitting(width)


def test_rows_that_are_shown_as_cards_are_those_of_a_table_to_assistive_technology(
    site: PageSite,
) -> None:
    page = site.open("/problems", NARROW)
    cell = page.find_element(By.TAG_NAME, "td")
    assert cell.value_of_css_property("display") == "flow-root"
    roles = {"table": "table", "thead": "rowgroup", "th": "columnheader", "tr": "row", "td": "cell"}
    for name, role in roles.items():
        assert page.find_element(By.TAG_NAME, name).aria_role == role


@pytest.mark.parametrize(("person", "path"), PAGES_OF_LONG_NAMES)
def test_page_with_long_names_fits(crowded: PageSite, person: str, path: str) -> None:
    crowded.become(person)
    page = crowded.open(path, WIDE)
    for width in (WIDE, 800, 700, 641, NARROW):
        crowded.resize(width)
        assert fit(page) == fitting(width)
    crowded.enlarge_text()
    assert fit(page) == fitting(NARROW)


@pytest.mark.parametrize("family", ["paper", "slate", "sepia"])
@pytest.mark.parametrize("appearance", ["system", "dark"])
def test_page_is_printed_in_black_on_white(site: PageSite, family: str, appearance: str) -> None:
    site.become("Bob")
    given = {"themeFamily": family, "appearance": appearance}
    site.api("Bob", "PUT", "/api/account/preferences", given)
    page = site.open("/workspaces/{workspace}/members")
    site.emulate("print", prefers_color_scheme="dark")
    assert measured(page, ("brightness", "faint")) == {"brightness": "bright", "faint": []}
    assert page.execute_script(VISIBLE, ".button, .bar nav, .crumbs, .tabs, .footer") == []
    assert page.find_element(By.TAG_NAME, "h1").value_of_css_property("color") == BLACK
    given = {"themeFamily": "paper", "appearance": "system"}
    site.api("Bob", "PUT", "/api/account/preferences", given)


def test_printed_audit_names_exact_times(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/administration/audit")
    for media in ("screen", "print"):
        site.emulate(media)
        rows = page.find_elements(By.CSS_SELECTOR, "tbody tr")
        assert all(re.search(r":[0-9]{2}\s[AP]M UTC", each.text) for each in rows)


def test_present_place_is_marked_without_colours(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/account/keys")
    site.emulate("", forced_colors="active")
    places = page.find_elements(By.CSS_SELECTOR, ".bar .wide a, .tabs a")
    bordered = [each for each in places if each.value_of_css_property("border-top-width") != "0px"]
    assert [each.text for each in bordered] == ["Account", "Keys"]


@pytest.mark.parametrize("appearance", ["light", "dark"])
@pytest.mark.parametrize("family", ["paper", "slate", "sepia"])
def test_every_palette_is_readable(site: PageSite, family: str, appearance: Scheme) -> None:
    site.become("Bob")
    site.api("Bob", "PUT", "/api/account/preferences", {"themeFamily": family})
    site.api("Bob", "PUT", "/api/account/preferences", {"appearance": appearance})
    opposite = {"light": "dark", "dark": "light"}[appearance]
    for path in ("/account", "/workspaces/{workspace}/members", "/account/removal"):
        page = site.open(path, WIDE, opposite)
        seen = measured(page, ("brightness", "faint"))
        assert seen == {"brightness": {"light": "bright", "dark": "dim"}[appearance], "faint": []}
    site.api("Bob", "PUT", "/api/account/preferences", {"appearance": "system"})


def test_checks_see_what_does_not_fit_is_cramped_or_faint(site: PageSite, axe: str) -> None:
    # At an address of its own: the policy of the installation's pages allows no style in a page.
    wide = "data:text/html,<!doctype html><p style='width: 400px; color: gray'>wide and faint"
    show(site.browser, wide, NARROW, "light")
    found = measured(site.browser, ("width", "overflowing", "faint"))
    assert (found["width"], str(found["overflowing"]).count("<p")) == (8 + 400, 1)
    assert str(found["faint"])[2:6] == "3.95"
    assert "document-title" in json.dumps(accessibility_faults(site.browser, axe))
    narrow = "<p style='width: 1em; overflow-wrap: anywhere'>reader</p>"
    broken = "<h1 style='width: 3em; overflow-wrap: anywhere'>Workspaces</h1>"
    show(site.browser, f"data:text/html,<!doctype html>{narrow}{broken}", NARROW, "light")
    cramped = ["column: reader", "word: Workspaces"]
    assert measured(site.browser, ("cramped",)) == {"cramped": cramped}


def test_browser_runs_no_script(site: PageSite) -> None:
    show(site.browser, "data:text/html,<p>as sent<script>document.body.remove()</script>", 320, "")
    assert site.browser.find_element(By.TAG_NAME, "p").text == "as sent"


def test_form_that_is_refused_keeps_what_was_typed_and_says_why(site: PageSite) -> None:
    site.become("")
    page = site.open("/register?invitation={opened}", NARROW)
    fill_in(page, {"E-mail": "dan@example.org", "Name": "Dan", "Password": "short"})
    page.find_element(By.ID, "accept").click()
    press(page, "Create the account")
    assert field(page, "E-mail address").get_attribute("value") == "dan@example.org"
    assert field(page, "Password").get_attribute("value") == ""
    assert page.find_element(By.CSS_SELECTOR, "[role=alert] a").text == "Password"
    wait_for_focus(page, "password")


def test_keyboard_reaches_the_content_first(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/account")
    body = page.find_element(By.TAG_NAME, "body")
    body.send_keys("\ue004")
    assert page.switch_to.active_element.text == "Skip to the content"


def test_menu_opens_on_a_narrow_screen(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/workspaces", NARROW)
    links = "details.narrow nav a"
    assert not page.find_element(By.CSS_SELECTOR, links).is_displayed()
    page.find_element(By.CSS_SELECTOR, "details.narrow summary").click()
    shown = [each.text for each in page.find_elements(By.CSS_SELECTOR, links)]
    assert shown == ["Workspaces", "Account", "Administration"]
    assert fit(page) == fitting(NARROW)


def test_administrator_locks_an_account_and_the_person_learns_why(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/administration/accounts")
    fill_in(page, {"Name or address": "bob"})
    press(page, "Find")
    follow(page, "Bob")
    Select(field(page, "State")).select_by_value("locked")
    fill_in(page, {"Reason of a lock": "Please call us."})
    press(page, "Save")
    assert message(page) == "The account is saved."
    site.become("Bob")
    for path, expected in (
        ("/workspaces", "Workspaces"),
        ("/workspaces/{workspace}/members", "Your account is locked"),
    ):
        page = site.open(path, NARROW)
        assert heading(page) == expected
        assert "Please call us." in page.find_element(By.TAG_NAME, "main").text
    site.become("Ann")
    page = site.open("/administration/accounts/{bob}")
    Select(field(page, "State")).select_by_value("enabled")
    press(page, "Save")
    site.become("Bob")
    assert heading(site.open("/workspaces")) == "Workspaces"


def test_last_administrator_stays_one(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/administration/accounts/{ann}")
    Select(field(page, "Role")).select_by_value("member")
    press(page, "Save")
    assert message(page).startswith("This is the last enabled administrator.")
    page = site.open("/account/removal")
    fill_in(page, {"Your password": PASSWORD})
    press(page, "Remove my account")
    assert message(page).startswith("This is the last enabled administrator.")


def test_key_is_created_copied_and_revoked(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/account/keys", NARROW)
    fill_in(page, {"Name": "reading list"})
    press(page, "Create the key")
    secret = field(page, "Secret").get_attribute("value") or ""
    by_key = {"authorization": f"Bearer {secret}"}
    assert site.http.get("/api/account", headers=by_key).status_code == 200
    follow(page, "I have copied it")
    assert secret not in page.page_source
    follow(page, "Revoke")
    press(page, "Revoke the key")
    assert message(page).startswith("The key is revoked.")
    assert site.http.get("/api/account", headers=by_key).status_code == 401


def test_password_is_changed_and_used(site: PageSite) -> None:
    site.become("")
    page = site.open(f"/register?invitation={invite(site.folder)}")
    fill_in(page, {"E-mail": "fay@example.org", "Name": "Fay", "Password": PASSWORD})
    page.find_element(By.ID, "accept").click()
    press(page, "Create the account")
    page = site.open("/account/password")
    fill_in(page, {"Current password": "not the password", "New password": NEW_PASSWORD})
    press(page, "Change the password")
    wait_for_focus(page, "currentPassword")
    fill_in(page, {"Current password": PASSWORD, "New password": NEW_PASSWORD})
    press(page, "Change the password")
    assert message(page) == "Your password is changed."
    sign_out(page)
    assert message(page) == "You are signed out."
    fill_in(page, {"E-mail": "fay@example.org", "Password": NEW_PASSWORD})
    press(page, "Sign in")
    assert page.current_url == f"{ORIGIN}/workspaces"


def test_workspace_is_created_renamed_and_deleted(site: PageSite) -> None:
    site.become("Bob")
    page = site.open("/workspaces", NARROW)
    fill_in(page, {"Name": "Recipes"})
    press(page, "Create the workspace")
    assert (heading(page), message(page)) == ("Recipes", "The workspace is created.")
    page.find_element(By.CSS_SELECTOR, ".narrow-only a").click()
    follow(page, "Members and settings", within="aside")
    follow(page, "Settings")
    fill_in(page, {"Name": "Baking"})
    press(page, "Rename")
    assert (heading(page), message(page)) == ("Baking", "The workspace is renamed.")
    follow(page, "Delete the workspace")
    fill_in(page, {"Name of the workspace": "Baking"})
    press(page, "Delete for good")
    assert message(page) == "The workspace is deleted."


def test_invited_person_registers_and_becomes_a_member(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/workspaces/{workspace}/invitations")
    fill_in(page, {"E-mail address": "gil@example.org"})
    press(page, "Create the link")
    link = field(page, "Link").get_attribute("value") or ""
    site.become("")
    show(site.browser, link, NARROW, "light")
    fill_in(page, {"E-mail": "gil@example.org", "Name": "Gil", "Password": PASSWORD})
    page.find_element(By.ID, "accept").click()
    press(page, "Create the account")
    assert message(page) == "Welcome. Your account is ready."
    follow(page, "Household & garden")
    assert heading(page) == "Household & garden"
    site.become("Ann")
    page = site.open("/workspaces/{workspace}/members")
    assert "gil@example.org" in page.find_element(By.TAG_NAME, "main").text


def test_person_with_an_account_joins_with_the_link(site: PageSite) -> None:
    made = site.api("Ann", "POST", "/api/workspaces", {"name": "Travel"})
    path = f"/api/workspaces/{made['id']}/invitations"
    link = str(site.api("Ann", "POST", path, {"role": "reader"})["link"])
    site.become("")
    show(site.browser, link, NARROW, "dark")
    page = site.browser
    follow(page, "Sign in")
    fill_in(page, {"E-mail": "bob@example.org", "Password": PASSWORD})
    press(page, "Sign in")
    press(page, "Join as Bob")
    assert (heading(page), message(page)) == ("Travel", "You are a member of this workspace now.")


def test_forgotten_password_is_replaced_through_a_message(site: PageSite) -> None:
    site.become("")
    page = site.open("/sign-in", NARROW)
    follow(page, "Forgot your password?")
    sent = len(site.mail.messages)
    fill_in(page, {"E-mail": "dee@example.org"})
    press(page, "Send the link")
    assert "is on its way" in message(page)
    text = site.mail.wait_for(sent + 1)[sent].get_body(("plain",))
    assert text is not None
    [link] = re.findall(r"http://\S+/reset-password\?token=\S+", text.get_content())
    show(site.browser, link, NARROW, "light")
    fill_in(page, {"New password": NEW_PASSWORD})
    press(page, "Change the password")
    assert message(page) == "Your password is changed. Sign in with the new one."
    fill_in(page, {"E-mail": "dee@example.org", "Password": NEW_PASSWORD})
    press(page, "Sign in")
    # The documents have changed since this person accepted them.
    assert heading(page) == "Accept the documents"
    page.find_element(By.ID, "accept").click()
    press(page, "Accept")
    assert heading(page) == "Workspaces"
    show(site.browser, link, NARROW, "light")
    assert heading(page) == "This link can't be used"


def test_registration_is_opened_and_closed(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/administration/installation", NARROW)
    for policy, expected in (("open", "Create your account"), ("invitation", "You need an invi")):
        site.become("Ann")
        page = site.open("/administration/installation", NARROW)
        Select(field(page, "Who may create an account")).select_by_value(policy)
        press(page, "Save")
        assert message(page) == "The installation is changed."
        site.become("")
        assert heading(site.open("/register")).startswith(expected)


@pytest.mark.parametrize("person", ["Ann", "Cid"])
def test_person_is_handed_to_the_portal_of_the_operator(site: PageSite, person: str) -> None:
    site.become(person)
    page = site.open("/account", NARROW, "light")
    press(page, "Billing")
    # The page in between goes on by itself.
    WebDriverWait(page, PATIENCE).until(title_is("Billing"))
    token = heading(page).removeprefix("/pay?from=notes&token=")
    assert page.current_url.startswith(f"{site.portal}/pay?")
    assert re.fullmatch("[A-Za-z0-9_-]{43}", token)


def test_note_is_published_read_and_revoked(site: PageSite) -> None:
    site.become("Ann")
    page = site.open("/workspaces/{workspace}/links/new", NARROW)
    fill_in(page, {"Path": "Tea/Earl Grey", "From": "Ann"})
    press(page, "Create the link")
    shown = page.find_element(By.ID, "address")
    shown.click()
    address = shown.text
    assert page.execute_script("return getSelection().toString()") == address
    assert page.find_elements(By.CSS_SELECTOR, "svg[role=img]") != []
    follow(page, "I have copied it")
    assert address not in page.page_source
    site.become("")
    show(site.browser, address, NARROW, "dark")
    assert heading(page) == "Earl Grey"
    site.become("Ann")
    page = site.open("/workspaces/{workspace}/links")
    follow(page, "Revoke")
    press(page, "Revoke the link")
    assert message(page) == "The link is revoked. It opens nothing any more."
    site.become("")
    show(site.browser, address, NARROW, "light")
    assert heading(page) == "Open this link"


def test_reported_link_is_taken_down(site: PageSite) -> None:
    target = {"target": {"kind": "folder", "path": "Tea"}}
    link = publish(site, "Ann", site.values["workspace"], target)
    site.become("")
    page = site.open(link.path, NARROW)
    follow(page, "Report this page", within="footer")
    page.find_element(By.ID, "spam").click()
    fill_in(page, {"What they should know": "Counterfeit watches"})
    press(page, "Send the report")
    assert heading(page) == "Thank you"
    site.become("Ann")
    page = site.open("/administration/reports", NARROW)
    assert "Counterfeit watches" in page.find_element(By.TAG_NAME, "main").text
    follow(page, "Open the link")
    assert heading(page) == "Tea"
    page.back()
    follow(page, "Take the link down")
    press(page, "Take the link down")
    assert message(page).startswith("The link is taken down")
    page = site.open("/workspaces/{workspace}/links", NARROW)
    assert "took it down after a report" in page.find_element(By.TAG_NAME, "main").text
    show(site.browser, f"{ORIGIN}{link.path}", NARROW, "light")
    assert heading(page) == "Open this link"
