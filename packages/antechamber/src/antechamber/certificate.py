"""Check the TLS certificate and its key, with errors that operators can act on."""

import ssl
from dataclasses import dataclass


class CertificateError(Exception):
    """The certificate is unusable; the message gives the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The PEM files of a certificate chain and of its private key."""

    chain: str
    key: str


def check_certificate(certificate: Certificate) -> None:
    """Raise `CertificateError` unless both files are readable and belong together."""
    for file in (certificate.chain, certificate.key):
        _check_readable(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # LoadCost the chain alone first separates its errors from those of the key.
        context.load_verify_locations(certificate.chain)
    except ssl.SSLError as error:
        raise CertificateError(
            f"{certificate.chain} is not a PEM certificate: use a file with the "
            "certificate and its chain, which begins with -----BEGIN CERTIFICATE-----"
        ) from error
    try:
        context.load_cert_chain(certificate.chain, certificate.key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            fault = f"is not the key of the certificate {certificate.chain}"
        elif isinstance(error, ValueError):
            fault = "is encrypted with a password"
        else:
            fault = "is not a PEM private key"
        raise CertificateError(
            f"{certificate.key} {fault}: use the certificate's own PEM key, without a password"
        ) from error


def _check_readable(file: str) -> None:
    try:
        with open(file, "rb"):
            return
    except OSError as error:
        raise CertificateError(
            f"{file} can't be read ({error.strerror}): use a file that exists and that "
            "this user may read"
        ) from error


def _no_password() -> bytes:
    # Without this callback OpenSSL would prompt on the terminal.
    raise ValueError("the key has a password")
