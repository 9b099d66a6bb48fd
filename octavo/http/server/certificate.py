"""The certificate that TLS is spoken with, and plain words for why it can't be."""

import ssl
from dataclasses import dataclass


class CertificateError(Exception):
    """The certificate can't be used; the message says why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The files, in PEM, of a certificate with its chain and of its private key."""

    chain: str
    key: str


def check_certificate(certificate: Certificate) -> None:
    """Raise `CertificateError` unless both files can be read and belong together."""
    for file in (certificate.chain, certificate.key):
        _check_readable(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # As a list of authorities a chain is read alone: what fails here is no fault of the key.
        context.load_verify_locations(certificate.chain)
    except ssl.SSLError as error:
        raise CertificateError(
            f"{certificate.chain} is not a certificate in PEM: give one with its chain, "
            "in text that begins with -----BEGIN CERTIFICATE-----"
        ) from error
    try:
        context.load_cert_chain(certificate.chain, certificate.key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            fault = f"is not the key of the certificate {certificate.chain}"
        elif isinstance(error, ValueError):
            fault = "has a password"
        else:
            fault = "is not a private key in PEM"
        raise CertificateError(
            f"{certificate.key} {fault}: give the certificate's own key in PEM, without password"
        ) from error


def _check_readable(file: str) -> None:
    try:
        with open(file, "rb"):
            return
    except OSError as error:
        raise CertificateError(
            f"{file} can't be read ({error.strerror}): "
            "give a file that exists and that this user may read"
        ) from error


def _no_password() -> bytes:
    # Without this OpenSSL would ask the terminal.
    raise ValueError("the key has a password")
