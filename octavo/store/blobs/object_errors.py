"""What the errors of obstore mean.

obstore reports most errors as a text, which contains the address of the request and the body of the
response. An address may be signed, and a body may repeat it: only patterns that can't hold a
secret are taken from the text, and the text itself is neither raised nor logged.
"""

import re

from octavo.store.blobs.blob_store import BlobMissing, BlobsFull, BlobsUnavailable

RANGE_BEYOND_END = 416
"""The HTTP status of a range that begins after the last byte (RFC 9110, section 15.5.17)."""

_CREDENTIALS = re.compile("token request|/latest/(api/token|meta-data)|/metadata/identity")
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
_KIND = re.compile(r"kind: (Connect|Timeout)\b")
# Azure deletes in batches, and obstore reports the failure of one deletion in these words.
_NOT_IN_BATCH = re.compile(r"Bulk delete request failed for key \S+: .*\(code: 404\)")
_QUOTED = re.compile(r'"[^"]*"')
_ADDRESS = re.compile(r"Url: .*(?=, Error)|\S*://\S*")
_PREFIX = re.compile(r"^Generic \w+ error: ")

_NOT_FOUND = 404
_INSUFFICIENT_STORAGE = 507
_MISSING = frozenset({"NoSuchKey", "BlobNotFound"})
# Ceph, then MinIO.
_FULL = frozenset({"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"})
_KINDS = {"Connect": "no connection could be made", "Timeout": "it did not respond in time"}


class ObjectFailure(Exception):
    """A request to an object store failed.

    Args:
        reason: why, after "the object store can't be used: "; without secrets.
        status: the HTTP status of the response; None without one.
        code: the code of the error in the response; empty without one.
    """

    def __init__(self, reason: str, status: int | None = None, code: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.code = code

    def as_blob_error(self, path: str) -> BlobMissing | BlobsUnavailable:
        """Return the error for callers of the blob store, for a request for ``path``.

        A 404 alone does not mean that the blob is missing: it may come from a proxy or a wrong
        endpoint, or mean that the bucket is missing.
        """
        if self.code in _MISSING:
            return BlobMissing(f"the blob {path} is missing")
        full = self.status == _INSUFFICIENT_STORAGE or self.code in _FULL
        kind = BlobsFull if full else BlobsUnavailable
        return kind(f"the object store can't be used: {self.reason}")


def failure_of(error: Exception) -> ObjectFailure:
    """Return what ``error``, which a request of obstore raised, means."""
    if isinstance(error, ObjectFailure):
        return error
    text = str(error)
    if _CREDENTIALS.search(text):
        return ObjectFailure("its credentials could not be obtained")
    if status := _STATUS.search(text):
        code = _CODE.search(text)
        named = f" ({code[1]})" if code else ""
        reason = f"it responded with status {status[1]}{named}"
        return ObjectFailure(reason, int(status[1]), code[1] if code else "")
    if _NOT_IN_BATCH.search(text):
        return ObjectFailure("the blob does not exist", _NOT_FOUND, "BlobNotFound")
    if "StartTooLarge" in text:
        # obstore compared the range with the size of the object that was returned.
        return ObjectFailure("the range begins after the last byte", RANGE_BEYOND_END)
    if kind := _KIND.search(text):
        return ObjectFailure(_KINDS[kind[1]])
    if isinstance(error, OSError) and error.strerror:
        return ObjectFailure(error.strerror)
    return ObjectFailure("the request failed, or its response was invalid")


def configuration_fault(error: Exception) -> str:
    """Return why a store can't be opened, without the values that its configuration has."""
    line = _PREFIX.sub("", str(error).partition("\n")[0])
    return _ADDRESS.sub("…", _QUOTED.sub("…", line))
