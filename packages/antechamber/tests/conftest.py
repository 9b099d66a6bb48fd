"""A certificate authority for the tests under TLS."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from antechamber.listener import Certificate


@dataclass(frozen=True)
class Authority:
    """A certificate for localhost, and the trust of its clients."""

    certificate: Certificate
    file: Path

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.file))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    folder = tmp_path_factory.mktemp("tls")
    issuer = trustme.CA()
    issued = issuer.issue_cert("localhost", "127.0.0.1")
    chain, key, root = folder / "chain.pem", folder / "key.pem", folder / "root.pem"
    chain.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(key))
    issuer.cert_pem.write_to_path(str(root))
    return Authority(Certificate(str(chain), str(key)), root)
