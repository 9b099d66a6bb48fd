"""Build the server options from the settings, and log requests that the server rejects."""

import logging

from antechamber import Limits, RejectedRequest, ServerOptions, raise_file_limit
from antechamber.limits import ServerUsage

from octavo.access.entropy import new_id, now
from octavo.http import contract
from octavo.settings import KernelSettings

_log = logging.getLogger(__name__)


def server_options(
    settings: KernelSettings,
    log_request: contract.RequestLog,
    usage: ServerUsage,
) -> ServerOptions:
    """Return the server options for ``settings``; rejected requests are logged like others.

    ``usage`` tells what is used of the limits. Raises the open-file limit of this process as far as
    permitted.
    """
    room = raise_file_limit(settings.connections)
    if room < settings.connections:
        _log.warning(
            "this process may open files for %d connections only, not for %d: raise its "
            "limit (ulimit -n), or lower OCTAVO_CONNECTIONS",
            room,
            settings.connections,
        )

    def log_rejected(rejected: RejectedRequest) -> None:
        if rejected.seen:
            # The application logs the requests that it received, in more detail.
            return
        log_request(
            contract.RequestRecord(
                request_id=rejected.request_id,
                method=rejected.method,
                path=rejected.path,
                operation=None,
                status=rejected.status,
                duration=0.0,
                remote_address=rejected.client,
                request_bytes=0,
                response_bytes=rejected.size,
                principal=None,
                failure=rejected.code,
            )
        )

    return ServerOptions(
        now=now,
        new_id=new_id,
        limits=Limits(
            header_timeout=settings.header_timeout,
            head_size=settings.head_size,
            header_count=settings.header_count,
            target_length=settings.target_length,
            body_timeout=settings.body_timeout,
            request_timeout=settings.request_timeout,
            idle_timeout=settings.idle_timeout,
            write_timeout=settings.write_timeout,
            connections=room,
            connections_per_client=settings.connections_per_client,
            requests_per_round_per_client=settings.requests_per_round_per_client,
            requests_per_connection=settings.requests_per_connection,
        ),
        trusted_proxies=settings.trusted_proxies,
        problem_base=settings.public_url,
        proxy_header="forwarded" if settings.proxy_header == "forwarded" else "x-forwarded",
        log_rejected=log_rejected,
        usage=usage,
    )
