import ipaddress

import pytest
from antechamber.network_prefix import network_prefix, site_prefix
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("client", "network"),
    [
        (None, ""),
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("64:ff9b::c000:207", "192.0.2.7"),
        ("no address", "no address"),
    ],
)
def test_client_counts_for_its_network(client: str | None, network: str) -> None:
    assert network_prefix(client) == network


@given(st.ip_addresses(v=6, network="2001:db8::/64"), st.ip_addresses(v=6, network="2001:db8::/64"))
def test_clients_of_one_64_count_as_one(
    one: ipaddress.IPv6Address, other: ipaddress.IPv6Address
) -> None:
    assert network_prefix(str(one)) == network_prefix(str(other))


@given(st.ip_addresses(v=4), st.ip_addresses(v=4))
def test_ipv4_clients_count_separately(
    one: ipaddress.IPv4Address, other: ipaddress.IPv4Address
) -> None:
    assert (network_prefix(str(one)) == network_prefix(str(other))) is (one == other)


@pytest.mark.parametrize(
    ("network", "site"),
    [
        ("", ""),
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("2001:db8:1::/64", "2001:db8:1::/48"),
        ("::/64", "::/48"),
    ],
)
def test_networks_of_one_subscriber_belong_to_one_site(network: str, site: str) -> None:
    assert site_prefix(network) == site
