"""A downloaded file appears complete, or not at all."""

import os
import stat
from pathlib import Path
from random import Random

import pytest
import trio
from octavo_client.exporting import partial_download


async def test_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "a.zip"
    async with partial_download(target, Random(1)) as file:
        await file.write(b"one")
        await file.write(b"two")
        assert (await file.tail(4), await file.tail(100)) == (b"etwo", b"onetwo")
        assert not target.exists()
    assert target.read_bytes() == b"onetwo"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.zip"]


async def test_present_file_is_replaced_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.zip"
    target.write_bytes(b"old")
    link = tmp_path / "a.zip"
    link.symlink_to(target)
    async with partial_download(link, Random(1)) as file:
        await file.write(b"new")
        assert target.read_bytes() == b"old"
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


async def test_failed_block_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.zip"
    target.write_bytes(b"old")

    async def fail() -> None:
        async with partial_download(target, Random(1)) as file:
            await file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.zip"]


async def test_cancelled_block_leaves_nothing(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with partial_download(tmp_path / "a.zip", Random(1)) as file:
            await file.write(b"new")
            scope.cancel()
            await trio.lowlevel.checkpoint()
    assert os.listdir(tmp_path) == []


async def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        async with partial_download(tmp_path / "none" / "a.zip", Random(1)):
            pass
