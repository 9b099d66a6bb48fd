"""The demonstration, as a user runs it."""

import re
import subprocess
import sys

from demo.corpus import FEWEST, vault
from tests.project.source import ROOT


def test_demo_ends_with_both_devices_in_sync() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "demo", "--seconds", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "byte-equal to the server: yes" in done.stdout
    [saves] = re.findall(r"saves +([0-9,]+) +([0-9,]+)\n", done.stdout)
    assert all(int(count.replace(",", "")) > 0 for count in saves)
    [merged] = re.findall(r"documents merged +([0-9,]+) +([0-9,]+)\n", done.stdout)
    assert all(int(count.replace(",", "")) > 0 for count in merged)


def test_corpus_is_a_workspace_of_linked_notes_that_exist() -> None:
    notes = vault()
    assert len(notes) >= FEWEST
    for path, text in notes.items():
        folder, name = path.split("/")
        links = re.findall(r"\]\(<([^<>]+\.md)>\)", text.partition("\n---\n")[2] or text)
        if name == "index.md":
            assert links, path
            assert all(f"{folder}/{link}" in notes for link in links), path
