"""Chromium, driven over its debugging protocol, as a person's browser without script."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

# Else it looks up hosts of its maker all the while.
_OPTIONS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def missing() -> str | None:
    """What has to be installed before a browser starts, for a person; None when nothing has."""
    if shutil.which("chromium") is None:
        return (
            "NO PAGE IS TESTED IN A BROWSER: there is no Chromium. "
            "Install it (on Debian: apt-get install chromium), then run make test."
        )
    return None


@contextmanager
def running_browser(origin: str, port: int) -> Iterator[Browser]:
    """Run a browser that finds ``origin``, a host with its port, on ``port`` of this machine."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            # Its sandbox refuses to run as root, as which checks run in containers.
            chromium_sandbox=False,
            args=[*_OPTIONS, f"--host-resolver-rules=MAP {origin} 127.0.0.1:{port}"],
        )
        try:
            yield browser
        finally:
            browser.close()
