"""Mutated archives are imported or refused, in bounded time and memory.

The number of archives comes from ``OCTAVO_FUZZ_ARCHIVES``; each is a function of its number.
"""

import os
import random
import shutil
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from octavo.features.archives.worker.refusal import ArchiveRefused
from octavo.features.archives.worker.selection import ExportLayout
from octavo.features.archives.worker.zip_writer import ZipWriter
from octavo.model.files.path import check_path, path_key
from tests.fakes.image_files import samples
from tests.fakes.imported_archives import Imported, imported
from tests.fakes.vaults import LOGSEQ, OBSIDIAN
from tests.fakes.zip_files import LIMITS, ONES_32, Crafted, crafted, unicode_extra, zip64_extra
from tests.fakes.zip_mutation import mutated

# `make fuzz` checks more.
ARCHIVES = int(os.environ.get("OCTAVO_FUZZ_ARCHIVES", "3000"))


def export() -> bytes:
    writer = ZipWriter(ExportLayout(".history"))
    pieces = [writer.note(f"{number}.md", b"text " * number) for number in range(5)]
    return b"".join((*pieces, writer.note(".history/1/a.md", b"old"), writer.end()))


SEEDS = [
    crafted(*[Crafted(path, data[:300]) for path, data in OBSIDIAN.files.items()
              if path.endswith((".md", ".json"))]),
    crafted(*[Crafted(path, data, 0) for path, data in LOGSEQ.files.items()], prefix=b"stub"),
    crafted(
        Crafted("a.md", size=ONES_32, extra=zip64_extra(4), local={"size": 4}),
        Crafted(unicodedata.normalize("NFD", "b\u00fc.md"), flags=8, after=bytes(16)),
        Crafted(b"?.md", flags=0, extra=unicode_extra("\u65e5.md", b"?.md")),
        Crafted("x/p.png", samples()["png"].data),
        zip64=True,
        comment=b"a comment",
    ),
    export(),
]  # fmt: skip


def check(found: Imported) -> None:
    """What was imported can be committed."""
    paths = [*found.notes, *found.images]
    for path in paths:
        check_path(path)
    keys = {path_key(path) for path in paths}
    assert len(keys) == len(paths) == found.result["notes"] + found.result["images"]
    assert all("\0" not in text for text in found.notes.values())


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_mutated_archive_is_imported_or_refused(seed: int) -> None:
    outcomes = Counter[str]()
    for number in range(ARCHIVES // len(SEEDS)):
        rng = random.Random(f"{seed} {number}")
        folder = Path(tempfile.mkdtemp(prefix="octavo-fuzz-"))
        try:
            data = mutated(rng, SEEDS[seed])
            check(imported(folder, data, parts=rng.choice((1, 2)), limits=LIMITS))
            outcomes["imported"] += 1
        except ArchiveRefused:
            outcomes["refused"] += 1
        finally:
            shutil.rmtree(folder)
    assert min(outcomes["imported"], outcomes["refused"]) > ARCHIVES // len(SEEDS) // 50, outcomes
