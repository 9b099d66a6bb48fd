"""State vectors: how much of a Yjs document a replica has.

A client numbers what it writes, one clock per UTF-16 code unit of text. A state vector has the next
clock of each client: the replica has everything below it.
"""

from collections.abc import Mapping
from typing import TypeAlias

from octavo.model.documents.varint import CLOCK_BOUND, read_varint, write_varint
from octavo.model.refusal import DocumentMalformed

StateVector: TypeAlias = Mapping[int, int]
"""Client ids and their next clocks; a client that is absent has written nothing."""


def read_state_vector(data: bytes) -> dict[int, int]:
    """Return the state vector that ``data`` encodes in the format of Yjs (version 1).

    Raises `DocumentMalformed` for anything else: truncated data, trailing bytes, a duplicate
    client, a client id of 2^53 or more, a clock of 2^31 or more.
    """
    vector: dict[int, int] = {}
    try:
        count, at = read_varint(data, 0)
        for _ in range(count):
            client, at = read_varint(data, at)
            clock, at = read_varint(data, at)
            if clock >= CLOCK_BOUND:
                raise DocumentMalformed(
                    "A clock of the state vector takes more than 31 bits: encode it again."
                )
            if client in vector:
                raise DocumentMalformed(
                    "A client appears twice in the state vector: encode it again."
                )
            vector[client] = clock
    except IndexError:
        raise DocumentMalformed("The state vector is truncated: send all of its bytes.") from None
    if at != len(data):
        raise DocumentMalformed("Bytes follow the state vector: send it alone.")
    return vector


def write_state_vector(vector: StateVector) -> bytes:
    """Return ``vector`` in the encoding of Yjs (version 1), the highest client first."""
    numbers = [len(vector)]
    for client in sorted(vector, reverse=True):
        numbers += client, vector[client]
    return b"".join(map(write_varint, numbers))
