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
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate.chain, certificate.key, password=_no_password)
    except (OSError, ValueError) as error:
        # ssl.SSLError is an OSError.
        raise CertificateError(
            f"the certificate {certificate.chain} can't be used with the key {certificate.key}: "
            f"{error}: give a certificate in PEM, with its chain, and its own key without password"
        ) from error


def _no_password() -> bytes:
    # Without this OpenSSL would ask the terminal.
    raise ValueError("the key has a password")
