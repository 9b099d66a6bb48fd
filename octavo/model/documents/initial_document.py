"""The document of a note whose text was never changed."""

import hashlib

from octavo.model.documents.document import KeptDocument
from octavo.model.documents.state_vector import write_state_vector
from octavo.model.documents.varint import write_varint
from octavo.model.identity import ContentId, Epoch

ROOT = "text"
"""The name of the text in a document; there is nothing else in it."""

NOTHING = b"\0\0"
"""The update that changes nothing: no structs, no deletions."""

# One client with one item, at clock 0: a string without neighbours, whose parent is the root.
_ONE_ITEM = b"\1\1"
_STRING_IN_ROOT = b"\0\4\1" + write_varint(len(ROOT)) + ROOT.encode()
_NO_DELETIONS = b"\0"


def client_of(identifier: str) -> int:
    """Return the Yjs client, of 53 bits as in JavaScript, that belongs to an identifier."""
    return int.from_bytes(hashlib.sha256(identifier.encode()).digest()[:7], "big") >> 3


def initial(content_id: ContentId, text: str) -> KeptDocument:
    """Return the document that is the insertion of ``text``, and the first of its generation.

    The insertion is of a client that belongs to the content: the same whenever and wherever it
    is made, so that it need not be stored. In the update format of Yjs, version 1.
    """
    epoch = Epoch(content_id)
    if not text:
        return KeptDocument(epoch, NOTHING, write_state_vector({}))
    data = text.encode()
    length = len(text) if len(data) == len(text) else len(text.encode("utf-16-le")) // 2
    client = client_of(content_id)
    written = write_varint(len(data)) + data
    state = _ONE_ITEM + write_varint(client) + _STRING_IN_ROOT + written + _NO_DELETIONS
    return KeptDocument(epoch, state, write_state_vector({client: length}))
