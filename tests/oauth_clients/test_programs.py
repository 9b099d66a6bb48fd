"""What these tests say where something is missing."""

from pathlib import Path

import pytest

from tests.oauth_clients import programs


def test_programs_without_their_packages_name_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(programs, "HERE", tmp_path)
    assert "apt-get install nodejs npm" in (programs.missing() or "")
