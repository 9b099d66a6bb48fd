"""The client's address and scheme come from trusted proxies only."""

from ipaddress import ip_address, ip_network

import pytest
from antechamber.proxies import (
    MOST_BYTES,
    ForwardedHeader,
    Network,
    client_of,
    is_within,
    parse_networks,
)
from hypothesis import assume, given
from hypothesis import strategies as st

PROXY = "10.0.0.1"
CLIENT = "203.0.113.7"
TRUSTED = parse_networks("10.0.0.0/8, 2001:db8:a::/48")
Headers = list[tuple[bytes, bytes]]


def x_forwarded(*addresses: str, proto: tuple[str, ...] = ()) -> Headers:
    return [(b"x-forwarded-for", value.encode("latin-1")) for value in addresses] + [
        (b"x-forwarded-proto", value.encode("latin-1")) for value in proto
    ]


def forwarded(*values: str) -> Headers:
    return [(b"forwarded", value.encode("latin-1")) for value in values]


def client(headers: Headers, header: ForwardedHeader, peer: str = PROXY) -> tuple[str, str]:
    return client_of(peer, "http", headers, trusted=TRUSTED, header=header)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], (PROXY, "http")),
        (x_forwarded(""), (PROXY, "http")),
        (x_forwarded(CLIENT), (CLIENT, "http")),
        (x_forwarded(CLIENT, proto=("https",)), (CLIENT, "https")),
        (x_forwarded(CLIENT, proto=("HTTPS",)), (CLIENT, "https")),
        (x_forwarded(CLIENT, proto=("wss",)), (CLIENT, "https")),
        (x_forwarded(proto=("https",)), (PROXY, "https")),
        (x_forwarded(f"198.51.100.1, {CLIENT}"), (CLIENT, "http")),
        (x_forwarded(f"198.51.100.1, {CLIENT},10.0.0.3 ,\t10.0.0.2"), (CLIENT, "http")),
        (x_forwarded("198.51.100.1", CLIENT, "10.0.0.2"), (CLIENT, "http")),
        (x_forwarded("10.0.0.4, 10.0.0.3"), ("10.0.0.4", "http")),
        (x_forwarded("unknown"), (PROXY, "http")),
        (x_forwarded("198.51.100.1, unknown, 10.0.0.2"), ("10.0.0.2", "http")),
        (x_forwarded(f"{CLIENT}:4711"), (CLIENT, "http")),
        (x_forwarded("2001:db8::7"), ("2001:db8::7", "http")),
        (x_forwarded("2001:DB8:0:0::7"), ("2001:db8::7", "http")),
        (x_forwarded("[2001:db8::7]"), ("2001:db8::7", "http")),
        (x_forwarded("[2001:db8::7]:4711"), ("2001:db8::7", "http")),
        (x_forwarded(f"::ffff:{CLIENT}"), (CLIENT, "http")),
        (x_forwarded(f"{CLIENT}, 2001:db8:a::1, ::ffff:10.0.0.2"), (CLIENT, "http")),
        (x_forwarded(f", {CLIENT}, ,"), (CLIENT, "http")),
        (x_forwarded(CLIENT, proto=("https, http",)), (CLIENT, "http")),
        (x_forwarded(CLIENT, proto=("https", "http")), (CLIENT, "http")),
        (x_forwarded(CLIENT, proto=("gopher",)), (CLIENT, "http")),
        (forwarded(f"for={CLIENT};proto=https"), (PROXY, "http")),
    ],
)
def test_x_forwarded_from_a_trusted_proxy_names_the_client(
    headers: Headers, expected: tuple[str, str]
) -> None:
    assert client(headers, "x-forwarded") == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], (PROXY, "http")),
        (forwarded(""), (PROXY, "http")),
        (forwarded(f"for={CLIENT}"), (CLIENT, "http")),
        (forwarded(f"For={CLIENT};PROTO=https"), (CLIENT, "https")),
        (forwarded(f"proto=https;for={CLIENT};by=10.0.0.1;host=a.example"), (CLIENT, "https")),
        (forwarded(f'for="{CLIENT}:4711";proto="https"'), (CLIENT, "https")),
        (forwarded('for="[2001:db8::7]"'), ("2001:db8::7", "http")),
        (forwarded('for="[2001:db8::7]:4711"'), ("2001:db8::7", "http")),
        (forwarded('for="[2001:db8::7]:_port"'), ("2001:db8::7", "http")),
        (forwarded(r'for="203.0\.113.7"'), (CLIENT, "http")),
        (forwarded(f"for=198.51.100.1, for={CLIENT}, for=10.0.0.2"), (CLIENT, "http")),
        (forwarded("for=198.51.100.1", f"for={CLIENT}", "for=10.0.0.2"), (CLIENT, "http")),
        (forwarded(f"for={CLIENT};proto=https, for=10.0.0.2;proto=http"), (CLIENT, "https")),
        (forwarded(f"for={CLIENT}, for=10.0.0.2;proto=https"), (CLIENT, "https")),
        (forwarded(f"for=1.1.1.1;proto=https, for={CLIENT}"), (CLIENT, "http")),
        (forwarded(f"for={CLIENT};proto=gopher, for=10.0.0.2;proto=https"), (CLIENT, "https")),
        (forwarded("for=10.0.0.4, for=10.0.0.3"), ("10.0.0.4", "http")),
        (forwarded("for=unknown;proto=https"), (PROXY, "https")),
        (forwarded("for=_hidden"), (PROXY, "http")),
        (forwarded('for="_hidden:_port"'), (PROXY, "http")),
        (forwarded("for=1.1.1.1, for=UNKNOWN, for=10.0.0.2"), ("10.0.0.2", "http")),
        (forwarded("for=1.1.1.1, proto=https"), (PROXY, "https")),
        (forwarded(f'for={CLIENT};secret="a, for=1.1.1.1"'), (CLIENT, "http")),
        (forwarded(rf'for={CLIENT};secret="a\", for=1.1.1.1"'), (CLIENT, "http")),
        (forwarded(rf'for={CLIENT};secret="a, \\"'), (CLIENT, "http")),
        (forwarded(f'for={CLIENT};secret=""'), (CLIENT, "http")),
        (forwarded(f'secret="a, b", for={CLIENT}'), (CLIENT, "http")),
        (forwarded(f", for={CLIENT}, ,;,"), (CLIENT, "http")),
        (forwarded(f";for={CLIENT}; proto=https;"), (CLIENT, "https")),
        (x_forwarded(CLIENT, proto=("https",)), (PROXY, "http")),
    ],
)
def test_forwarded_from_a_trusted_proxy_names_the_client(
    headers: Headers, expected: tuple[str, str]
) -> None:
    assert client(headers, "forwarded") == expected


@pytest.mark.parametrize(
    "entry",
    [
        "nobody",
        "203.0.113",
        "203.0.113.256",
        "203.0.113.07",
        "203.0.113.7:",
        "203.0.113.7:123456",
        "203.0.113.7 198.51.100.1",
        "[203.0.113.7]",
        "[2001:db8::7",
        "[2001:db8::7]x",
        "fe80::7%eth0",
        "[fe80::7%eth0]",
        "_",
        "\xff",
    ],
)
def test_x_forwarded_with_a_relevant_malformed_entry_keeps_peer_and_scheme(entry: str) -> None:
    headers = x_forwarded(f"{CLIENT}, {entry}, 10.0.0.2", proto=("https",))
    assert client(headers, "x-forwarded") == (PROXY, "http")


@pytest.mark.parametrize(
    "element",
    [
        "for",
        "for=",
        f"={CLIENT}",
        f"for = {CLIENT}",
        f"for={CLIENT}:4711",
        "for=[2001:db8::7]",
        'for="[2001:db8::7"',
        'for="nobody"',
        'for=""',
        f'for="{CLIENT}',
        f'for={CLIENT}"',
        f'for="{CLIENT}"x',
        f"for={CLIENT};for={CLIENT}",
        f"for={CLIENT};FOR=1.1.1.1",
        f"for={CLIENT} proto=https",
        f"for={CLIENT};secret=\xff",
        f'for={CLIENT};secret="\x00"',
    ],
)
def test_forwarded_with_a_relevant_malformed_element_keeps_peer_and_scheme(
    element: str,
) -> None:
    headers = forwarded(f"{element}, for=10.0.0.2;proto=https")
    assert client(headers, "forwarded") == (PROXY, "http")


FIELD = st.text(st.characters(codec="latin-1"), max_size=60) | st.lists(
    st.sampled_from(
        ["for=", "proto=https", "proto=http", ",", ";", '"', "\\", "10.0.0.9", "1.1.1.1", " ", "["]
    ),
    max_size=12,
).map("".join)
FIELDS = st.lists(
    st.tuples(
        st.sampled_from([b"forwarded", b"x-forwarded-for", b"x-forwarded-proto"]),
        FIELD.map(lambda text: text.encode("latin-1")),
    ),
    max_size=4,
)
KINDS: st.SearchStrategy[ForwardedHeader] = st.sampled_from(["x-forwarded", "forwarded"])
SCHEMES = st.sampled_from(["http", "https"])
ADDRESSES = st.ip_addresses().map(str)
PROXIES = st.integers(0, 2**24 - 1).map(lambda low: str(ip_address(0x0A000000 + low)))


@given(peer=ADDRESSES | st.just(""), scheme=SCHEMES, headers=FIELDS, kind=KINDS)
def test_headers_from_an_untrusted_peer_change_nothing(
    peer: str, scheme: str, headers: Headers, kind: ForwardedHeader
) -> None:
    assume(not is_within(peer, TRUSTED))
    response = client_of(peer, scheme, headers, trusted=TRUSTED, header=kind)
    assert response == (peer, scheme)


@given(headers=FIELDS, kind=KINDS)
def test_any_headers_from_a_trusted_peer_give_an_address_and_a_scheme(
    headers: Headers, kind: ForwardedHeader
) -> None:
    address, scheme = client(headers, kind)
    assert str(ip_address(address)) == address
    assert scheme in ("http", "https")


@given(headers=FIELDS, more=FIELDS, kind=KINDS)
def test_headers_of_the_other_kind_change_nothing(
    headers: Headers, more: Headers, kind: ForwardedHeader
) -> None:
    mine = (b"forwarded",) if kind == "forwarded" else (b"x-forwarded-for", b"x-forwarded-proto")
    others = [(name, value) for name, value in more if name not in mine]
    assert client([*others, *headers], kind) == client(headers, kind)


def node(address: str) -> str:
    return f'"[{address}]"' if ":" in address else address


@given(
    attack=st.lists(FIELD, max_size=3),
    attacker=ADDRESSES,
    hops=st.lists(PROXIES, max_size=3),
    proto=SCHEMES,
    same_line=st.booleans(),
    secret=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8),
)
def test_forwarded_forged_ahead_of_the_chain_changes_nothing(
    attack: list[str],
    attacker: str,
    hops: list[str],
    proto: str,
    same_line: bool,
    secret: str,
) -> None:
    assume(not is_within(attacker, TRUSTED))
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"')
    first = f'for={node(attacker)};proto={proto};secret="{escaped}"'
    chain = ", ".join([first, *(f"for={hop}" for hop in hops)])
    headers = forwarded(", ".join([*attack, chain])) if same_line else forwarded(*attack, chain)
    assert client(headers, "forwarded") == (str(ip_address(_plain(attacker))), proto)


@given(
    attack=st.lists(FIELD, max_size=3),
    protos=st.lists(FIELD, max_size=3),
    attacker=ADDRESSES,
    hops=st.lists(PROXIES, max_size=3),
    proto=SCHEMES,
    same_line=st.booleans(),
)
def test_x_forwarded_forged_ahead_of_the_chain_changes_nothing(
    attack: list[str],
    protos: list[str],
    attacker: str,
    hops: list[str],
    proto: str,
    same_line: bool,
) -> None:
    assume(not is_within(attacker, TRUSTED))
    chain = ", ".join([attacker, *hops])
    lines = [", ".join([*attack, chain])] if same_line else [*attack, chain]
    headers = x_forwarded(*lines, proto=(*protos, proto))
    assert client(headers, "x-forwarded") == (_plain(attacker), proto)


@pytest.mark.parametrize("attack", ["," * 15_000, "10.0.0.1," * 1_600, '"' * 15_000])
def test_long_list_ahead_of_the_chain_changes_nothing_and_is_not_read(attack: str) -> None:
    assert client(x_forwarded(f"{attack},192.0.2.9"), "x-forwarded") == ("192.0.2.9", "http")
    forwarded = [(b"forwarded", f"{attack},for=192.0.2.9".encode())]
    assert client(forwarded, "forwarded") == ("192.0.2.9", "http")
    read: list[str] = []
    hops = x_forwarded(f"192.0.2.9,{'10.0.0.1,' * 1_600}")
    read.append(client(hops, "x-forwarded")[0])
    assert read == ["10.0.0.1"]


def test_entry_of_which_only_the_end_is_read_is_not_the_client() -> None:
    end = "8.51.100.1"
    proxies = f", {PROXY}" * ((MOST_BYTES - len(end)) // len(f", {PROXY}"))
    proxies += " " * (MOST_BYTES - len(end) - len(proxies))
    assert client(x_forwarded(f"19{end}{proxies}"), "x-forwarded") == (PROXY, "http")
    assert client(x_forwarded(f"{end}{proxies}"), "x-forwarded") == (end, "http")


def _plain(address: str) -> str:
    known = ip_address(address)
    return str(getattr(known, "ipv4_mapped", None) or known)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("  ", ()),
        ("192.0.2.1", (ip_network("192.0.2.1/32"),)),
        ("10.0.0.0/8,::1", (ip_network("10.0.0.0/8"), ip_network("::1/128"))),
        (" 10.0.0.0/8 , 2001:db8::/32 ", (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32"))),
        ("::ffff:10.0.0.0/104", (ip_network("10.0.0.0/8"),)),
        ("::ffff:10.0.0.1", (ip_network("10.0.0.1/32"),)),
        ("0.0.0.0/0,::/0", (ip_network("0.0.0.0/0"), ip_network("::/0"))),
    ],
)
def test_well_formed_networks_are_read(text: str, expected: tuple[Network, ...]) -> None:
    assert parse_networks(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("proxy.example", "'proxy.example' is neither an IP address nor a network"),
        ("10.0.0.0/33", "'10.0.0.0/33' is neither an IP address nor a network"),
        ("10.0.0.1,", "'' is neither an IP address nor a network"),
        ("10.0.0.1 10.0.0.2", "'10.0.0.1 10.0.0.2' is neither"),
        ("10.1.2.3/8", "'10.1.2.3/8' is an address within a network: write 10.0.0.0/8"),
    ],
)
def test_malformed_networks_are_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_networks(text)
