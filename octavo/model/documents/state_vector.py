"""State vectors: how much of a Yjs document somebody holds.

A client numbers what it writes, one UTF-16 code unit of text a number. A state vector names for
each client the next clock: everything below it is held.
"""

from collections.abc import Mapping
from typing import TypeAlias

from octavo.model.documents.varint import CLOCK_BOUND, read_varint, write_varint
from octavo.model.refusal import DocumentMalformed

StateVector: TypeAlias = Mapping[int, int]
"""The id of a client to its next clock; a client that is not named has written nothing."""


def read_state_vector(data: bytes) -> dict[int, int]:
    """Return the state vector that ``data`` encodes, as Yjs writes it (version 1).

    Raises `DocumentMalformed` for anything else: bytes that end early or go on, a client that
    stands there twice, an id of 2^53 or more, a clock of 2^31 or more.
    """
    vector: dict[int, int] = {}
    try:
        count, at = read_varint(data, 0)
        for _ in range(count):
            client, at = read_varint(data, at)
            clock, at = read_varint(data, at)
            if clock >= CLOCK_BOUND:
                raise DocumentMalformed(
                    "A clock of the state vector takes more than 31 bits: encode it anew."
                )
            if client in vector:
                raise DocumentMalformed(
                    "A client stands twice in the state vector: encode it anew."
                )
            vector[client] = clock
    except IndexError:
        raise DocumentMalformed("The state vector ends too early: send all of its bytes.") from None
    if at != len(data):
        raise DocumentMalformed("Bytes follow the state vector: send it alone.")
    return vector


def write_state_vector(vector: StateVector) -> bytes:
    """Return ``vector`` encoded as Yjs writes it (version 1): the highest client first."""
    numbers = [len(vector)]
    for client in sorted(vector, reverse=True):
        numbers += client, vector[client]
    return b"".join(map(write_varint, numbers))
