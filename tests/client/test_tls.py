"""Requests and notices over https, with a certificate that the client was told to trust."""

import ssl
from pathlib import Path
from random import SystemRandom

import pytest
import trio
import trustme
from octavo_client import Client, ConnectionFailed, Mirror, Retrying

from tests.e2e.octavo_process import PUBLIC, invited
from tests.e2e.people import PASSWORD
from tests.e2e.prepared import serving
from tests.e2e.server import PATIENCE


async def test_account_is_created_and_followed_over_https(tmp_path: Path) -> None:
    issuer = trustme.CA()
    issued = issuer.issue_cert("localhost")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    for pem in issued.cert_chain_pems:
        pem.write_to_path(tmp_path / "chain.pem", append=True)
    trust = ssl.create_default_context()
    issuer.configure_trust(trust)
    data = tmp_path / "data"
    options = [
        *("--tls-certificate", str(tmp_path / "chain.pem")),
        *("--tls-key", str(tmp_path / "key.pem")),
        *("--public-url", PUBLIC, "--data-dir", str(data)),
    ]
    with serving(*options) as octavo, trio.fail_after(PATIENCE):
        invitation = await trio.to_thread.run_sync(invited, data)
        url = f"https://localhost:{octavo.port}"
        async with Client(url, entropy=SystemRandom(), origin=PUBLIC, tls=trust) as client:
            account = await client.register(invitation, "Ada@example.org", PASSWORD, "Ada")
            assert (account.address, account.display_name) == ("ada@example.org", "Ada")
            workspace = await client.create_workspace("Notes")
            mirror = Mirror(workspace)
            async with trio.open_nursery() as nursery:
                await nursery.start(mirror.run)
                made = await workspace.create("a.md", "one")
                await mirror.wait_for(made.position)
                nursery.cancel_scope.cancel()
        once = Retrying(attempts=1)
        async with Client(url, entropy=SystemRandom(), key="octk_any", retrying=once) as stranger:
            with pytest.raises(ConnectionFailed, match="CERTIFICATE_VERIFY_FAILED"):
                await stranger.create_workspace("Notes")
