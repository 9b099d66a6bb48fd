"""The document of a note whose text was never changed, which is derived instead of stored."""

import hashlib

from octavo.model.documents.document import StoredDocument
from octavo.model.documents.state_vector import write_state_vector
from octavo.model.documents.varint import write_varint
from octavo.model.identity import ContentId, Epoch

ROOT = "text"
"""The name of the text in a document, its only root type."""

NOTHING = b"\0\0"
"""The empty update: no structs, no deletions."""

# One client with one item, at clock 0: a string without neighbours, whose parent is the root.
_ONE_ITEM = b"\1\1"
_STRING_IN_ROOT = b"\0\4\1" + write_varint(len(ROOT)) + ROOT.encode()
_NO_DELETIONS = b"\0"


def client_of(identifier: str) -> int:
    """Return the Yjs client id of an identifier, of 53 bits as in JavaScript."""
    return int.from_bytes(hashlib.sha256(identifier.encode()).digest()[:7], "big") >> 3


def initial(content_id: ContentId, text: str) -> StoredDocument:
    """Return the document that consists of the insertion of ``text``, in a new epoch.

    The client id of the insertion is derived from the content id, so the document is always and
    everywhere the same and need not be stored. The format is a Yjs update, version 1.
    """
    epoch = Epoch(content_id)
    if not text:
        return StoredDocument(epoch, NOTHING, write_state_vector({}))
    data = text.encode()
    length = len(text) if len(data) == len(text) else len(text.encode("utf-16-le")) // 2
    client = client_of(content_id)
    written = write_varint(len(data)) + data
    state = _ONE_ITEM + write_varint(client) + _STRING_IN_ROOT + written + _NO_DELETIONS
    return StoredDocument(epoch, state, write_state_vector({client: length}))
