"""Buckets of object stores as obstore opens them, with time limits for their requests."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from obstore.store import AzureStore, GCSStore, S3Store

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

Bucket = S3Store | AzureStore | GCSStore

PART_BYTES = 5 * 1024 * 1024
"""Size of the parts that a larger blob is uploaded in; S3 accepts no smaller ones."""

_RETRIES = 3
_LONGEST_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class StoreTimeouts:
    """Time limits of the requests to an object store, in seconds.

    Attributes:
        connect: for a connection, with its TLS handshake.
        request: for a request other than an upload, to the end of its response.
        upload: for the upload of a blob of at most `PART_BYTES`, or of a part of that size.
        retry: time after the first attempt within which a failed request may be repeated.
    """

    connect: float = 5.0
    request: float = 20.0
    upload: float = 60.0
    retry: float = 10.0

    def of_request(self) -> float:
        """Return the limit of a call that sends one request, not an upload."""
        return self.request + self.retry

    def of_upload(self, size: int) -> float:
        """Return the limit of a call that uploads ``size`` bytes.

        Three requests begin, end and abort a sequence of parts.
        """
        return (size // PART_BYTES + 3) * self.upload + self.retry


def open_bucket(address: str, timeouts: StoreTimeouts, seconds: float) -> Bucket:
    """Return the bucket at ``address``, whose requests may take ``seconds``. Sends no request.

    Raises ValueError and errors of obstore if the address or the environment is not usable.
    """
    client: ClientConfig = {
        # The endpoint in the environment says whether TLS is used; without one, it is.
        "allow_http": True,
        "connect_timeout": timedelta(seconds=timeouts.connect),
        "timeout": timedelta(seconds=seconds),
    }
    retry: RetryConfig = {
        "max_retries": _RETRIES,
        "retry_timeout": timedelta(seconds=timeouts.retry),
        "backoff": {"max_backoff": timedelta(seconds=_LONGEST_PAUSE)},
    }
    match address.partition("://")[0]:
        case "s3":
            # Not every S3-compatible store can delete several objects in one request.
            return S3Store.from_url(
                address, disable_bulk_delete=True, client_options=client, retry_config=retry
            )
        case "az":
            return AzureStore.from_url(address, client_options=client, retry_config=retry)
        case "gs":
            return GCSStore.from_url(address, client_options=client, retry_config=retry)
        case _:
            raise ValueError("the address begins with none of s3://, az:// and gs://")
