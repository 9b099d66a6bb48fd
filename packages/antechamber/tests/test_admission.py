"""Connections are counted in total and per client, and nothing is kept of closed ones."""

from collections import Counter

import pytest
from antechamber.connection_handler import AdmissionDenied, ConnectionAdmission
from antechamber.proxies import parse_networks
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

PROXIES = parse_networks("10.0.0.0/8")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1", "::ffff:192.0.2.1"),
        ("2001:db8::1", "2001:db8::ffff:2"),
        ("2001:db8::1", "2001:0db8:0:0:1::"),
        ("fe80::1%eth0", "fe80::2%eth0"),
    ],
)
def test_second_connection_of_the_same_client_is_refused(first: str, second: str) -> None:
    admission = ConnectionAdmission(total=10, per_client=1, exempt=PROXIES)
    assert admission.admit(first) is None
    assert admission.admit(second) is AdmissionDenied.PER_CLIENT
    admission.release(second)
    assert admission.admit(first) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8:0:1::1"),
        ("0.0.0.1", "0:0:0:1::"),
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        (None, None),
        ("", ""),
    ],
)
def test_second_connection_of_another_or_an_exempt_client_is_accepted(
    first: str | None, second: str | None
) -> None:
    admission = ConnectionAdmission(total=10, per_client=1, exempt=PROXIES)
    assert admission.admit(first) is None
    assert admission.admit(second) is None


@pytest.mark.parametrize("address", ["192.0.2.9", "10.0.0.1", None])
def test_connection_over_the_total_is_refused_for_any_client(address: str | None) -> None:
    admission = ConnectionAdmission(total=1, per_client=1, exempt=PROXIES)
    assert admission.admit("192.0.2.1") is None
    assert admission.admit(address) is AdmissionDenied.TOTAL
    assert admission.open == 1


@pytest.mark.parametrize("address", ["192.0.2.9", "10.0.0.1", None])
def test_release_of_a_connection_that_is_not_open_is_an_error(address: str | None) -> None:
    admission = ConnectionAdmission(total=10, per_client=10, exempt=PROXIES)
    admission.admit("192.0.2.1")
    with pytest.raises(ValueError, match="is open"):
        admission.release(address)
    assert admission.open == 1


TOTAL, PER_CLIENT = 6, 2
CLIENTS: dict[str | None, str | None] = {
    "192.0.2.1": "a",
    "::ffff:192.0.2.1": "a",
    "192.0.2.2": "b",
    "2001:db8::1": "c",
    "2001:db8::2": "c",
    "2001:db8:0:1::1": "d",
    "10.1.2.3": None,
    None: None,
}


class Counts(RuleBasedStateMachine):
    """The counts equal those of a model that keeps every open connection."""

    def __init__(self) -> None:
        super().__init__()
        self.admission = ConnectionAdmission(TOTAL, PER_CLIENT, PROXIES)
        self.open: list[str | None] = []

    def count(self) -> Counter[str | None]:
        return Counter(CLIENTS[address] for address in self.open)

    @rule(address=st.sampled_from(list(CLIENTS)))
    def admit(self, address: str | None) -> None:
        client = CLIENTS[address]
        expected = None
        if len(self.open) == TOTAL:
            expected = AdmissionDenied.TOTAL
        elif client is not None and self.count()[client] == PER_CLIENT:
            expected = AdmissionDenied.PER_CLIENT
        assert self.admission.admit(address) is expected
        if expected is None:
            self.open.append(address)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.open) - 1))
        self.admission.release(self.open.pop(index))

    @rule(address=st.sampled_from(list(CLIENTS)))
    def release_what_is_not_open(self, address: str | None) -> None:
        if self.count()[CLIENTS[address]] == 0:
            with pytest.raises(ValueError, match="is open"):
                self.admission.release(address)

    @invariant()
    def counts_are_the_models(self) -> None:
        assert self.admission.open == len(self.open)
        assert sorted(self.admission._counts.values()) == sorted(self.count().values())


TestCounts = Counts.TestCase
