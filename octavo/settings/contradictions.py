"""Contradictions between settings: what is wrong, and which of them to change."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from octavo.settings.addresses import is_loopback, is_web_address
from octavo.settings.names import variable

if TYPE_CHECKING:
    from octavo.settings.settings import Settings

LARGEST_UPDATE = 6_000_000
"""The largest document update, in bytes, that fits into a request of 8 MiB as base64."""


def contradictions(settings: "Settings") -> Iterator[str]:
    """Yield what is wrong with ``settings`` that are valid one by one, a line each."""
    if settings.drain_timeout > settings.shutdown_timeout:
        yield (
            f"the drain timeout ({settings.drain_timeout:g} s) is part of the shutdown timeout "
            f"({settings.shutdown_timeout:g} s) and can't be longer: "
            f"lower {variable('drain_timeout')} or raise {variable('shutdown_timeout')}"
        )
    if bool(settings.tls_certificate) is not bool(settings.tls_key):
        yield (
            "TLS needs a certificate and its key: "
            f"give both {variable('tls_certificate')} and {variable('tls_key')}, or neither"
        )
    if settings.history_all_days > settings.history_hourly_days:
        yield (
            f"every revision is kept for more days ({settings.history_all_days:g}) than hourly ones"
            f" ({settings.history_hourly_days:g}): lower"
            f" {variable('history_all_days')} or raise {variable('history_hourly_days')}"
        )
    if settings.document_update_size > min(settings.document_size, LARGEST_UPDATE):
        yield (
            f"an update of {settings.document_update_size} bytes exceeds the request limit of"
            f" {LARGEST_UPDATE} bytes or the document limit of {settings.document_size}:"
            f" lower {variable('document_update_size')}"
        )
    if settings.session_idle_days > settings.session_absolute_days:
        yield (
            f"a session can't be idle for more days ({settings.session_idle_days:g}) than it lasts "
            f"({settings.session_absolute_days:g}): lower "
            f"{variable('session_idle_days')} or raise {variable('session_absolute_days')}"
        )
    if settings.mcp_write and not settings.mcp:
        yield (
            "assistants can change notes only where they can read them: "
            f"switch {variable('mcp')} on, or {variable('mcp_write')} off"
        )
    yield from _of_mail(settings)
    yield from _of_legal_documents(settings)


def _of_mail(settings: "Settings") -> Iterator[str]:
    if bool(settings.smtp_host) is not bool(settings.mail_from):
        yield (
            "sending mail needs a mail server and a sender: "
            f"give both {variable('smtp_host')} and {variable('mail_from')}, or neither"
        )
    if bool(settings.smtp_user) is not bool(settings.smtp_password):
        yield (
            "authentication at the mail server needs a name and a password: "
            f"give both {variable('smtp_user')} and {variable('smtp_password')}, or neither"
        )
    elif settings.smtp_user and not settings.smtp_host:
        yield f"{variable('smtp_user')} has no mail server: give {variable('smtp_host')}, too"
    elif (
        settings.smtp_user
        and settings.smtp_security == "none"
        and not is_loopback(settings.smtp_host)
    ):
        yield (
            "the password for the mail server would be sent unencrypted: "
            f"set {variable('smtp_security')} to starttls or tls"
        )


def _of_legal_documents(settings: "Settings") -> Iterator[str]:
    documents = {"terms": "terms_version", "privacy_notice": "privacy_version"}
    for name, version in documents.items():
        document, given = getattr(settings, name), getattr(settings, version)
        if is_web_address(document) and not given:
            yield (
                f"{variable(name)} is an address, and Octavo does not see when the page changes: "
                f"give the version that people accept in {variable(version)}"
            )
        elif given and not document:
            yield f"{variable(version)} has no document: give {variable(name)}, too"
        elif given and not is_web_address(document):
            yield (
                f"{variable(name)} is a file, which has its own version: leave out "
                f"{variable(version)}, and give the version in the front matter of the file"
            )
    if settings.registration_policy == "open":
        needed = ("smtp_host", *documents)
        missing = [variable(name) for name in needed if not getattr(settings, name)]
        if missing:
            yield (
                "open registration needs a mail server, terms and a privacy notice: give "
                f"{', '.join(missing)}, or leave out {variable('registration_policy')}"
            )
