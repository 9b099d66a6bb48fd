"""Redirect URIs of clients."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.oauth.rules.client import (
    check_redirect_uri,
    host_of,
    leads_to_this_device,
    uses_redirect_uri,
)
from octavo.features.oauth.rules.refusal import OAuthRefusal

ALLOWED = [
    "https://claude.ai/api/mcp/auth_callback",
    "https://app.example:8443/cb?tenant=1",
    "http://127.0.0.1:33418/",
    "http://127.0.0.1/callback",
    "http://[::1]:5000/callback",
    "http://localhost:6274/oauth/callback",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "cursor://anysphere.cursor-retrieval/oauth/user-callback",
    "vscode://vscode.microsoft-authentication/callback",
    "windsurf://codeium.windsurf/callback",
    "claude://oauth/callback",
    "com.example.app:/callback",
]
HANDLED = [
    # Browsers
    "about data blob javascript vbscript view-source file filesystem resource chrome",
    "chrome-extension moz-extension edge devtools microsoft-edge googlechrome",
    "x-safari-https web+notes ext+notes ws wss",
    # Windows
    "ms-msdt ms-settings ms-appinstaller ms-word ms-cxh-full search search-ms shell hcp mk ms-its",
    "res microsoft.windows.camera vnd.ms.radio onenote office callto knownfolder ldap odopen c",
    # macOS and iOS
    "itms-services itms-apps macappstore x-apple.systempreferences x-man-page applescript eppc",
    "help facetime facetime-audio telprompt imessage app-prefs shortcuts maps x-help-script afp",
    # Android and Linux
    "intent android-app content market apt snap admin trash man ghelp network",
    # Protocols, calls and messages
    "mailto tel sms sip xmpp irc webcal feed geo magnet ftp sftp ssh telnet vnc smb cifs nfs dav",
    "rtsp ipp ldaps gopher news nntp matrix wtai openpgp4fpr ipfs",
]
EVERY_HANDLED = " ".join(HANDLED).split()


@pytest.mark.parametrize("uri", ALLOWED)
def test_addresses_of_real_programs_are_allowed(uri: str) -> None:
    check_redirect_uri(uri)
    assert uses_redirect_uri(uri, uri)


@pytest.mark.parametrize(
    ("uri", "fault"),
    [
        ("", "1 to 2000"),
        ("x", "absolute"),
        ("https://a.example/" + "x" * 2000, "1 to 2000"),
        ("/callback", "absolute"),
        ("https://a.example/#fragment", "fragment"),
        ("https://a.example/#", "fragment"),
        ("http://a.example/cb", "https"),
        ("http://127.0.0.1.evil.example/cb", "https"),
        ("http://localhost.evil.example/cb", "https"),
        ("http://127.0.0.1@evil.example/cb", "host"),
        ("https://user@a.example/cb", "host"),
        ("https:///cb", "host"),
        ("https://a.example;evil.example/cb", "host"),
        ("https://a.example,evil.example/cb", "host"),
        ("https://a%2eexample/cb", "host"),
        ("https://a..example/cb", "host"),
        ("https://a.example:99999/cb", "absolute"),
        ("https://a.example\\@evil.example/", "backslash"),
        ("https://a.example/\n", "visible"),
        ("https://ä.example/", "visible"),
        ("javascript:alert(1)", "handle themselves"),
        ("JavaScript:alert(1)", "handle themselves"),
        ("data:text/html,x", "handle themselves"),
        ("file:///etc/passwd", "handle themselves"),
        ("ms-msdt:/id PCWDiagnostic", "visible"),
        ("ms-msdt:/id%20PCWDiagnostic", "handle themselves"),
    ],
)
def test_dangerous_addresses_are_refused(uri: str, fault: str) -> None:
    with pytest.raises(OAuthRefusal, match=fault) as refused:
        check_redirect_uri(uri)
    assert refused.value.code == "invalid_redirect_uri"


def test_address_may_have_2000_characters_and_no_more() -> None:
    uri = "https://a.example/" + "x" * 1982
    check_redirect_uri(uri)
    with pytest.raises(OAuthRefusal, match="1 to 2000"):
        check_redirect_uri(uri + "x")


REST = st.text("abcdefghijklmnopqrstuvwxyz0123456789+.-", min_size=1, max_size=20)
PATH = st.text([chr(each) for each in range(0x21, 0x7F)], max_size=30)


@given(
    st.one_of(st.sampled_from(EVERY_HANDLED), REST.map("ms-".__add__), REST.map("web+".__add__)),
    PATH,
    st.data(),
)
def test_scheme_that_a_system_handles_is_refused_also_where_it_was_registered(
    scheme: str, path: str, data: st.DataObject
) -> None:
    written = "".join(data.draw(st.sampled_from([each, each.upper()])) for each in scheme)
    uri = f"{written}:{path}"
    with pytest.raises(OAuthRefusal):
        check_redirect_uri(uri)
    assert not uses_redirect_uri(uri, uri)


@given(REST, PATH)
def test_reversed_domain_of_an_application_is_allowed(name: str, path: str) -> None:
    # RFC 8252 section 7.1.
    uri = f"org.example.{name}:/cb{path.replace('#', '').replace(chr(92), '')}"
    check_redirect_uri(uri)
    assert uses_redirect_uri(uri, uri)


@given(st.one_of(st.text(max_size=40), PATH, st.tuples(REST, PATH).map(":".join)))
def test_allowed_address_leads_to_the_web_or_an_application(uri: str) -> None:
    if not uses_redirect_uri(uri, uri):
        return
    scheme = urlsplit(uri).scheme
    assert scheme not in EVERY_HANDLED
    if scheme == "http":
        assert urlsplit(uri).hostname in ("localhost", "::1") or host_of(uri).startswith("127.")


@pytest.mark.parametrize(
    ("registered", "given", "matches"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", True),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:51234/cb", True),
        ("http://localhost:1/cb", "http://localhost:2/cb", True),
        ("http://[::1]/cb", "http://[::1]:2/cb", True),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/other", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb?x=1", False),
        ("http://127.0.0.1/cb", "http://127.0.0.2:51234/cb", False),
        ("http://127.0.0.1/cb", "http://localhost:51234/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb#x", False),
        ("http://127.0.0.1/cb", "https://127.0.0.1:51234/cb", False),
        ("http://a.example/cb", "http://a.example:444/cb", False),
        ("https://a.example/cb", "https://a.example:444/cb", False),
        ("https://a.example/cb", "https://a.example/cb/", False),
        ("https://a.example/cb", "https://a.example/cb?x=1", False),
        ("https://a.example/cb", "https://A.example/cb", False),
        ("https://a.example/cb", "https://a.example/cb/../evil", False),
        ("http://[::1]:5000/cb", "http://[::1]:5001/cb", True),
        ("http://127.0.0.1:99999/cb", "http://127.0.0.1:51234/cb", False),
        ("http://[::1]:5000/cb", "http://0[::1]:5000/cb", False),
        ("http://[::1]:5000/cb", "http://[::1]0:5000/cb", False),
    ],
)
def test_only_the_port_of_the_loopback_interface_may_differ(
    registered: str, given: str, matches: bool
) -> None:
    assert uses_redirect_uri(registered, given) is matches


@given(st.sampled_from(ALLOWED), st.text(max_size=30), st.integers(0, 60))
def test_no_changed_address_leads_to_another_host(uri: str, added: str, at: int) -> None:
    changed = uri[:at] + added + uri[at:]
    if uses_redirect_uri(uri, changed) and changed != uri:
        assert host_of(changed).rpartition(":")[0] == host_of(uri).rpartition(":")[0] or (
            host_of(uri) == "127.0.0.1" and host_of(changed).startswith("127.0.0.1:")
        )
        assert uri.startswith("http://")


def test_people_recognise_a_target_by_its_host_or_scheme() -> None:
    assert host_of("https://claude.ai/x") == "claude.ai"
    assert host_of("cursor://a/b") == "cursor:"
    assert not leads_to_this_device("https://claude.ai/x")
    assert leads_to_this_device("http://127.0.0.1:2/")
    assert leads_to_this_device("cursor://a")
