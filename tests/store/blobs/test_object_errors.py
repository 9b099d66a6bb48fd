"""What the errors of obstore mean."""

import pytest
from obstore.exceptions import GenericError

from octavo.store.blobs import BlobMissing, BlobsFull, BlobsUnavailable
from octavo.store.blobs.object_store import ObjectFailure, configuration_fault, failure_of

RESPONDED = (
    "Generic S3 error: Error performing PUT https://s3.example/b/k?X-Amz-Signature=SECRET in 1s"
    " - Server returned non-2xx status code: {status} Reason: <Error><Code>{code}</Code>"
    "<Message>AccessKeyId SECRET</Message></Error>"
)

DELETED_BEFORE = (
    "Object at location a/b not found: Bulk delete request failed for key a/b: The specified blob"
    " does not exist. (code: 404)"
)
WITHOUT_CREDENTIALS = (
    "Generic GCS error: Error performing token request: Error performing GET"
    " http://169.254.169.254/token?key=SECRET in 1s - status code: 403 Forbidden"
)
HTTP_ERROR = "Generic S3 error: SECRET - HTTP error\n\nsource: HttpError {{ kind: {kind}, SECRET }}"
MISSING = "the blob path is missing"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            RESPONDED.format(status=403, code="AccessDenied"),
            BlobsUnavailable,
            "the object store can't be used: it responded with status 403 (AccessDenied)",
        ),
        (
            RESPONDED.format(status=404, code="NoSuchBucket"),
            BlobsUnavailable,
            "the object store can't be used: it responded with status 404 (NoSuchBucket)",
        ),
        (
            RESPONDED.format(status=500, code="SECRET-1"),
            BlobsUnavailable,
            "the object store can't be used: it responded with status 500",
        ),
        (RESPONDED.format(status=404, code="NoSuchKey"), BlobMissing, MISSING),
        (
            RESPONDED.format(status=404, code="BlobNotFound"),
            BlobMissing,
            "the blob path is missing",
        ),
        (
            RESPONDED.format(status=403, code="QuotaExceeded"),
            BlobsFull,
            "the object store can't be used: it responded with status 403 (QuotaExceeded)",
        ),
        (
            RESPONDED.format(status=507, code=""),
            BlobsFull,
            "the object store can't be used: it responded with status 507",
        ),
        (
            DELETED_BEFORE,
            BlobMissing,
            MISSING,
        ),
        (
            WITHOUT_CREDENTIALS,
            BlobsUnavailable,
            "the object store can't be used: its credentials could not be obtained",
        ),
        (
            HTTP_ERROR.format(kind="Connect"),
            BlobsUnavailable,
            "the object store can't be used: no connection could be made",
        ),
        (
            HTTP_ERROR.format(kind="Timeout"),
            BlobsUnavailable,
            "the object store can't be used: it did not respond in time",
        ),
        (
            "SECRET",
            BlobsUnavailable,
            "the object store can't be used: the request failed, or its response was invalid",
        ),
    ],
)
def test_error_has_its_meaning_and_no_secret(
    text: str, kind: type[Exception], message: str
) -> None:
    error = failure_of(GenericError(text)).as_blob_error("path")
    assert type(error) is kind
    assert str(error) == message


def test_error_of_the_local_disk_is_described() -> None:
    error = failure_of(PermissionError(13, "Permission denied", "/secret")).as_blob_error("path")
    assert str(error) == "the object store can't be used: Permission denied"


def test_failure_is_its_own_meaning() -> None:
    failure = ObjectFailure("it is closed")
    assert failure_of(failure) is failure


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Generic MicrosoftAzure error: Account must be specified\n\nDebug source: SECRET",
            "Account must be specified",
        ),
        (
            'Generic Config error: failed to parse "SECRET" as boolean',
            "failed to parse … as boolean",
        ),
        (
            "Generic MicrosoftAzure error: Unable parse source url. Url: SECRET, Error: invalid",
            "Unable parse source url. …, Error: invalid",
        ),
        (
            "Generic GCS error: http://u:SECRET@host/path is not valid",
            "… is not valid",
        ),
    ],
)
def test_fault_of_the_configuration_shows_no_values(text: str, expected: str) -> None:
    assert configuration_fault(GenericError(text)) == expected
