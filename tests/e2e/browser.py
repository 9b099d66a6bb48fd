"""Chromium, driven over WebDriver: a person's browser, without script."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions, ChromeService

# As root, as which checks run in containers, its sandbox does not start, and there shared memory is
# small. The others keep it from looking up hosts of its maker all the while.
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
)


_SHELL = Path("/usr/lib/chromium/chromium-headless-shell")
"""Where Debian has it: the command starts it from a script, which would be all that the driver
ends."""


def _program() -> str | None:
    """The shell of Chromium without windows, which takes a fifth less time, or else Chromium."""
    return str(_SHELL) if _SHELL.is_file() else shutil.which("chromium")


def missing() -> str | None:
    """What has to be installed before a browser starts, for a person; None when nothing has."""
    if _program() is None or shutil.which("chromedriver") is None:
        return (
            "NO PAGE IS TESTED IN A BROWSER: there is no Chromium, or no driver for it. "
            "Install them (on Debian: apt-get install chromium-headless-shell chromium-driver), "
            "then run make test."
        )
    return None


@contextmanager
def running_browser(
    origin: str, port: int, *, logs_requests: bool = False, trusted_key: str | None = None
) -> Iterator[Chrome]:
    """Run a browser that finds ``origin``, a host with its port, on ``port`` of this machine.

    With ``logs_requests``, its log ``performance`` has its requests. It trusts certificates with
    the public key whose SHA-256 digest, in base64, is ``trusted_key``.
    """
    options = ChromeOptions()
    if logs_requests:
        options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    options.binary_location = _program() or ""
    for each in (*_OPTIONS, f"--host-resolver-rules=MAP {origin} 127.0.0.1:{port}"):
        options.add_argument(each)
    if trusted_key is not None:
        options.add_argument(f"--ignore-certificate-errors-spki-list={trusted_key}")
    browser = Chrome(options, ChromeService(shutil.which("chromedriver") or ""))
    try:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        yield browser
    finally:
        browser.quit()


def resize(browser: Chrome, width: int) -> None:
    """Show the page in a window of so many pixels."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 720, "deviceScaleFactor": 1, "mobile": False},
    )


def show(browser: Chrome, address: str, width: int, scheme: str) -> None:
    """Open a page in a window of so many pixels, in an appearance: ``light`` or ``dark``."""
    resize(browser, width)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(address)
