"""The test message and the recovery of an account, with a real mail server and database."""

import re
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from octavo.access.entropy import jitter
from octavo.cli.output import Failed
from octavo.features.accounts.commands import recover as recovery
from octavo.features.accounts.password_reset import PasswordReset
from octavo.features.mail import sending
from octavo.features.mail.feature import mail_feature
from octavo.features.mail.sending import mail_transport
from octavo.features.mail.settings import Sender, SmtpSecurity
from octavo.kernel import Kernel
from octavo.model.access.account import Address
from octavo.service.features import LISTENERS
from octavo.service.settings import Settings
from octavo.store.engine import open_engine
from tests.fakes.identity_fixture import IdentityFixture
from tests.fakes.smtp_server import free_port, mail_server

ANN = Address("ann@example.org")


def settings(port: int, security: SmtpSecurity = "none", **more: object) -> Settings:
    return Settings.model_validate(
        {
            "smtp_host": "127.0.0.1",
            "smtp_port": port,
            "smtp_security": security,
            "mail_from": Sender("", Address("notes@example.org")),
            "public_url": "https://notes.example.org",
            **more,
        }
    )


@pytest.mark.parametrize(("given", "sends"), [(Settings(), False), (settings(25), True)])
def test_pages_know_whether_there_is_a_mail_server(given: Settings, sends: bool) -> None:
    # Nothing of the kernel is used before the worker runs.
    kernel = cast(Kernel, SimpleNamespace(store=None, shared=False))
    assert mail_feature(kernel, given).sends == sends


async def test_test_message_is_sent() -> None:
    with mail_server() as server:
        await sending.send_test_message(settings(server.port), ANN)
        [message] = server.wait_for(1)
    assert (message["To"], message["From"]) == (ANN, "notes@example.org")


async def test_failed_test_message_names_the_failure_and_the_remedy() -> None:
    with mail_server() as server:
        test = partial(sending.send_test_message, settings(server.port), ANN)
        server.reply(on_recipient="550 5.7.1 no relay")
        with pytest.raises(Failed, match=r"550 5.7.1 no relay: check the address"):
            await test()
        server.reply(on_sender="553 not yours")
        with pytest.raises(Failed, match=r"553 not yours: .*OCTAVO_MAIL_FROM"):
            await test()
        with pytest.raises(Failed, match="set OCTAVO_SMTP_SECURITY to tls"):
            await sending.send_test_message(settings(server.port, "starttls"), ANN)
    port = free_port()
    with pytest.raises(Failed, match=f"127.0.0.1:{port}: .*check OCTAVO_SMTP_HOST"):
        await sending.send_test_message(settings(port), ANN)


@pytest.mark.parametrize(
    ("public_url", "name"),
    [
        ("https://notes.example.org:8443", "notes.example.org"),
        ("http://192.0.2.7", "[192.0.2.7]"),
        ("http://[2001:db8::1]:8080", "[IPv6:2001:db8::1]"),
    ],
)
def test_client_gives_its_name_as_the_server_expects_it(public_url: str, name: str) -> None:
    found = mail_transport(settings(25, public_url=public_url))
    assert found is not None
    assert found[1]._client_host == name


def test_without_a_mail_server_nothing_is_loaded() -> None:
    assert mail_transport(Settings()) is None


async def test_recover_makes_a_token_with_a_running_and_a_stopped_server(tmp_path: Path) -> None:
    given = Settings(data_dir=tmp_path)
    async with open_engine(given, LISTENERS, random=jitter, serving=True) as engine:
        identity = IdentityFixture(engine.store)
        made = await identity.account(ANN)
        await identity.set_state(made.account.account_id, "locked")
        beside = await recovery.recover(given, ANN)
    stopped = await recovery.recover(given, ANN)
    assert all(re.fullmatch(r"[\w-]{43}", token) for token in (beside, stopped))
    async with open_engine(given, LISTENERS, random=jitter, serving=True) as engine:
        identity = IdentityFixture(engine.store)
        identity.sources.time = time.time()
        reset: PasswordReset = identity.password_reset
        assert await reset.opens(beside)
        assert await reset.opens(stopped)


async def test_refused_recover_says_why(tmp_path: Path) -> None:
    given = Settings(data_dir=tmp_path)
    async with open_engine(given, LISTENERS, random=jitter, serving=True) as engine:
        identity = IdentityFixture(engine.store)
        made = await identity.account(ANN)
        await identity.set_state(made.account.account_id, "disabled")
        assert await identity.rows("SELECT digest FROM password_resets") == []
    with pytest.raises(Failed, match="is disabled: an administrator can enable"):
        await recovery.recover(given, ANN)
    with pytest.raises(Failed, match=r"no account has the address bob@example"):
        await recovery.recover(given, Address("bob@example.org"))
    with pytest.raises(Failed, match="no installation is in"):
        await recovery.recover(Settings(data_dir=tmp_path / "elsewhere"), ANN)
