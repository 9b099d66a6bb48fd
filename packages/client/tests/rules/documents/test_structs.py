import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.documents.structs import Wait, check_order
from octavo_rules.problems import DocumentDependencyMissing

CLIENTS = 4
LENGTH = 5

waits = st.dictionaries(
    st.integers(0, CLIENTS - 1),
    st.lists(
        st.builds(
            Wait,
            st.integers(0, LENGTH - 1),
            st.integers(0, CLIENTS - 1),
            st.integers(0, LENGTH),
        ),
        max_size=6,
    ).map(sorted),
)


def completes(waits: dict[int, list[Wait]], end: dict[int, int]) -> bool:
    """Whether everything is integrated when each client proceeds as far as it can, repeatedly."""
    done = dict.fromkeys(end, 0)
    while True:
        ready = [
            client
            for client, clock in done.items()
            if clock < end[client]
            and all(
                done[wait.other] > wait.needed
                for wait in waits.get(client, ())
                if wait.clock == clock
            )
        ]
        if not ready:
            return done == end
        for client in ready:
            done[client] += 1


@given(waits)
def test_order_is_refused_exactly_when_something_is_never_integrated(
    waits: dict[int, list[Wait]],
) -> None:
    end = dict.fromkeys(range(CLIENTS), LENGTH)
    if completes(waits, end):
        check_order(waits, end)
    else:
        with pytest.raises(DocumentDependencyMissing):
            check_order(waits, end)


def test_order_of_a_long_chain_of_clients_is_found() -> None:
    length = 10_000
    chain = {client: [Wait(0, client + 1, 0)] for client in range(length)}
    check_order(chain, dict.fromkeys(range(length + 1), 1))
    with pytest.raises(DocumentDependencyMissing, match=f"client {length} at clock 0"):
        check_order(chain, dict.fromkeys(range(length), 1))
