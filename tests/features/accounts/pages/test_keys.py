"""The pages of sessions and keys."""

import re
from html import unescape

import pytest
from octavo_rules.identity import WorkspaceId

from octavo.features.accounts.pages.keys import ACCESS, EXPLAINED
from tests.fakes.page_reader import Installation, PageReader
from tests.fakes.users_api import ADDRESS

SECRET = re.compile(r"octk_\w{36}")


async def create_key(ann: PageReader, name: str = "laptop", days: str = "30") -> str:
    await ann.open("/account/keys")
    await ann.submit("Create the key", name=name, days=days)
    assert ann.status == 200
    return str(SECRET.findall(ann.text)[0])


async def test_secret_is_shown_once(house: Installation, ann: PageReader) -> None:
    secret = await create_key(ann)
    assert ann.page.headings == ["The key “laptop” is ready"]
    key = (b"authorization", b"Bearer " + secret.encode())
    response = await house.users.get("/api/account", key)
    assert response.json()["address"] == ADDRESS
    await ann.open("/account/keys")
    assert secret not in ann.text
    assert "laptop" in ann.text


async def test_form_that_is_sent_twice_creates_one_key(ann: PageReader) -> None:
    form = await ann.form_at("/account/keys", "Create the key")
    secrets = set()
    for _ in range(2):
        await ann.send_form(form, name="laptop")
        secrets.add(SECRET.findall(ann.text)[0])
    assert len(secrets) == 1
    await ann.open("/account/keys")
    assert ann.text.count("laptop") == 2, "the name, and the hidden words of its button"


async def test_empty_list_says_what_keys_are_for(ann: PageReader) -> None:
    await ann.open("/account/keys")
    assert "No keys yet" in ann.text


async def test_name_is_required(ann: PageReader) -> None:
    await ann.open("/account/keys")
    page = await ann.submit("Create the key", name=" ")
    assert (ann.status, page.focused) == (400, ["name"])


async def test_key_that_never_ends(ann: PageReader) -> None:
    await create_key(ann, days="")
    await ann.open("/account/keys")
    assert re.search(r'data-name="Ends">never<', ann.text)


async def test_key_that_has_ended_is_marked(house: Installation, ann: PageReader) -> None:
    await create_key(ann, days="30")
    await ann.open("/account/keys")
    assert "in 1 month" in ann.text
    house.users.identity.sources.time += 29 * 86_400
    ann = await house.signed_in(ADDRESS)
    house.users.identity.sources.time += 2 * 86_400
    await ann.open("/account/keys")
    assert '<span class="badge bad">ended</span>' in ann.text


async def workspace(ann: PageReader, name: str) -> str:
    """A new workspace, by its id."""
    await ann.open("/workspaces")
    await ann.submit("Create", name=name)
    return ann.path.split("/")[2]


@pytest.mark.parametrize(
    ("access", "chosen", "folder", "said"),
    [
        ("", [], "", "Everything"),
        ("notes:read", [], "", "Read notes in all your workspaces"),
        ("notes:write", ["Home", "Work"], "", "Read and write notes in Home, Work"),
        ("notes:read", ["Work"], " /tea/ ", "Read notes below tea in Work"),
    ],
)
async def test_limits_of_a_key_are_chosen_and_listed_in_words(
    ann: PageReader, access: str, chosen: list[str], folder: str, said: str
) -> None:
    ids = {name: await workspace(ann, name) for name in ("Home", "Work")}
    await ann.open("/account/keys")
    ticked = {f"workspace-{ids[name]}": "on" for name in chosen}
    given = {"name": "laptop", "days": "", "access": access, "folder": folder, **ticked}
    await ann.submit("Create the key", **given)
    assert ann.status == 200
    await ann.open("/account/keys")
    [cell] = re.findall(r'data-name="May do">(.*?)</td>', ann.text, re.DOTALL)
    assert " ".join(re.sub("<.*?>", "", cell).split()) == said


@pytest.mark.parametrize(
    ("given", "focused"),
    [
        ({"folder": "tea"}, ["access"]),
        ({"access": "notes:read", "folder": "tea"}, ["folder"]),
        ({"access": "notes:read", "folder": "a:b", "workspace-{}": "on"}, ["folder"]),
    ],
)
async def test_limits_that_contradict_themselves_are_explained(
    ann: PageReader, given: dict[str, str], focused: list[str]
) -> None:
    home = await workspace(ann, "Home")
    await ann.open("/account/keys")
    fields = {name.format(home): value for name, value in given.items()}
    page = await ann.submit("Create the key", name="laptop", **fields)
    assert (ann.status, page.focused) == (400, focused)
    assert 'value="laptop"' in ann.text
    assert ('id="workspace-' + home) in ann.text


async def test_each_choice_of_what_a_key_may_do_is_explained_beside_it(ann: PageReader) -> None:
    await ann.open("/account/keys")
    choices = [each for each in ann.page.controls if each.get("name") == "access"]
    assert [each["value"] for each in choices] == [*ACCESS]
    for each in choices:
        label, hint = f'<label for="{each["id"]}">', f'<span id="{each["id"]}-hint" class="hint">'
        value = each["value"] or ""
        assert f"{label}{ACCESS[value]}</label>{hint}{EXPLAINED[value]}" in unescape(ann.text)
        assert each["aria-describedby"] == f"{each['id']}-hint"


@pytest.mark.parametrize("access", ["notes:read", "notes:write"])
async def test_choice_of_what_a_key_may_do_comes_back(ann: PageReader, access: str) -> None:
    await ann.open("/account/keys")
    await ann.submit("Create the key", name=" ", access=access)
    chosen = [each["value"] for each in ann.page.controls if "checked" in each]
    assert chosen == [access]


async def test_key_of_a_workspace_that_was_left_is_listed(
    house: Installation, ann: PageReader
) -> None:
    home = await workspace(ann, "Home")
    await ann.open("/account/keys")
    ticked = {f"workspace-{home}": "on"}
    await ann.submit("Create the key", name="laptop", access="notes:read", **ticked)
    await house.users.identity.execute("DELETE FROM members")
    house.users.access.forget(WorkspaceId(home))
    await ann.open("/account/keys")
    assert "Read notes in another workspace" in " ".join(ann.text.split())


async def test_key_is_revoked_after_a_question(house: Installation, ann: PageReader) -> None:
    secret = await create_key(ann)
    await ann.open("/account/keys")
    page = await ann.open(ann.page.links["Revoke laptop"])
    assert page.headings == ["Revoke this key?"]
    await ann.submit("Revoke the key")
    assert ann.page.alerts[0].startswith("The key is revoked.")
    key = (b"authorization", b"Bearer " + secret.encode())
    assert (await house.users.get("/api/account", key)).status == 401


async def test_question_about_an_unknown_key_leads_to_the_list(ann: PageReader) -> None:
    await ann.open("/account/keys/01900000-0000-7000-8000-0000000000ff/revoke")
    assert ann.path == "/account/keys"


async def test_maximum_number_of_keys_is_said(ann: PageReader) -> None:
    for number in range(25):
        await create_key(ann, str(number))
    await ann.open("/account/keys")
    assert "You have 25 keys, which is the maximum." in ann.text
    assert all(not each.button.startswith("Create") for each in ann.page.forms)


async def test_sessions_are_listed_and_ended(house: Installation, ann: PageReader) -> None:
    other = await house.signed_in(ADDRESS)
    await ann.open("/account/sessions")
    assert ann.text.count("Firefox") >= 2
    assert ann.text.count("this one") == 1
    ends = [each for each in ann.page.forms if each.action.endswith("/end")]
    await ann.send(ends[0].action, **ends[0].fields)
    assert ann.page.alerts == ["That browser is signed out."]
    await other.open("/account")
    assert other.path.startswith("/sign-in")


async def test_every_other_session_ends(house: Installation, ann: PageReader) -> None:
    others = [await house.signed_in(ADDRESS) for _ in range(2)]
    await ann.open("/account/sessions")
    await ann.submit("Sign out every other browser")
    assert ann.page.alerts == ["Every other browser is signed out."]
    for other in others:
        await other.open("/account")
        assert other.path.startswith("/sign-in")
    assert (await ann.open("/account")).headings == ["Ann"]


async def test_key_without_a_choice_of_what_it_may_do_is_not_created(ann: PageReader) -> None:
    await ann.open("/account/keys")
    await ann.submit("Create the key", name="laptop", days="", access="something")
    assert ann.status == 400
    assert "Choose what the key may do." in ann.text
