"""A real S3 server for the tests, without credentials that mean anything."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

BUCKET = "octavo-blobs"
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cw"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "octavo", "AWS_SECRET_ACCESS_KEY": SECRET}
"""The variables that obstore needs to sign requests."""
FAMILIES = ("AWS_", "AZURE_", "GOOGLE_")


@contextmanager
def s3_endpoint() -> Iterator[str]:
    """Run a server with the bucket `BUCKET` for the block; yield its address."""
    command = [sys.executable, "-m", "tests.fakes.s3_process"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            endpoint = process.stdout.readline().strip()
            assert endpoint, "the server did not start"
            created = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")
            with urllib.request.urlopen(created) as response:
                assert response.status == 200
            yield endpoint
        finally:
            process.stdin.close()
            process.wait(30)


def set_environment(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Have obstore see ``variables`` and no others of its own."""
    for name in os.environ:
        if name.startswith(FAMILIES):
            monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
