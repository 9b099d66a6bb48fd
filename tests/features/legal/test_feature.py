"""Reading the legal documents that the settings name."""

from hashlib import sha256
from pathlib import Path

import pytest

from octavo.features.legal.feature import LARGEST, Legal, read_legal
from octavo.features.legal.rules import LegalText, LegalTextError, LegalTexts
from octavo.service.settings import Settings

PUBLIC = "https://notes.example.org"


def settings(**given: str) -> Settings:
    return Settings.model_validate({"public_url": PUBLIC, **given})


def write(folder: Path, content: bytes) -> str:
    path = folder / "terms.md"
    path.write_bytes(content)
    return str(path)


async def read(folder: Path, content: bytes) -> Legal:
    return await read_legal(settings(terms=write(folder, content)))


async def test_without_documents_there_are_none() -> None:
    assert await read_legal(settings()) == Legal()


async def test_file_is_shown_here_with_the_version_of_its_front_matter(tmp_path: Path) -> None:
    found = await read(tmp_path, b"---\nversion: 2026-05\n---\n# Terms\n")
    terms = LegalText("2026-05", f"{PUBLIC}/legal/terms")
    assert found == Legal(LegalTexts(terms), {"terms": '<h1 id="terms">Terms</h1>\n'})


@pytest.mark.parametrize(
    "content", [b"", b"# Terms\r\n", b"---\ntitle: Terms\n---\n", "ä".encode()]
)
async def test_other_file_has_the_beginning_of_its_digest(tmp_path: Path, content: bytes) -> None:
    found = await read(tmp_path, content)
    assert found.documents.versions.terms == sha256(content).hexdigest()[:12]


async def test_address_is_read_elsewhere_with_the_version_of_the_settings() -> None:
    given = {"privacy_notice": "https://example.org/privacy", "privacy_version": "3"}
    found = await read_legal(settings(**given))
    privacy = LegalText("3", "https://example.org/privacy")
    assert found == Legal(LegalTexts(None, privacy))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\xff", r"is not UTF-8 \(byte 1\): save it in this encoding"),
        (b"a" * (LARGEST + 1), f"is larger than {LARGEST} bytes: shorten it"),
        (b"> " * 100 + b"a", "can't be shown: .* too complex: it has 100 levels"),
        (
            b"---\nversion:\n---\n",
            "the version of .* can't be used: At least one visible character",
        ),
        (b"---\nversion: " + b"1" * 101 + b"\n---\n", "can't be used: The maximum is 100"),
    ],
)
async def test_unusable_file_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(LegalTextError, match=reason):
        await read(tmp_path, content)


async def test_largest_file_is_accepted(tmp_path: Path) -> None:
    assert "terms" in (await read(tmp_path, b"a" * LARGEST)).html


async def test_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    given = settings(terms=write(tmp_path, b""))
    (tmp_path / "terms.md").unlink()
    with pytest.raises(LegalTextError, match=r"can't be read \(No such file or directory\)"):
        await read_legal(given)
