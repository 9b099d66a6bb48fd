"""What is kept of a note is made again when the renderer changes."""

import hashlib
import json

from octavo.render.note import render_note
from octavo.render.rendered_note import VERSION, RenderedNote
from tests.project.source import ROOT

MADE = (2, "e1d8782ca1191736")
"""The version of the renderer, and the digest of what it makes of the texts below.

When the second changes, increase `VERSION`, and write down both here: notes that were kept by
earlier versions would be shown as before.
"""
TEXTS = [
    "---\ntitle: A\nlang: de\n---\n# B\n\n[[c#d|e]] ![[f.png|30]] ==g== %%h%% $i$ [^1]\n\n[^1]: j",
    "> [!tip]- k\n> - [x] l\n> - [ ] m\n\n| n |\n|--:|\n| o |\n",
    "```python\nprint('p')\n```\n\n$$\nq\n$$",
    '<details><summary>r</summary><img src="s.png"></details> <script>t</script>',
]


def test_version_is_that_of_what_is_made() -> None:
    examples = json.loads((ROOT / "tests/render/commonmark_0_31_2.json").read_text())
    digest = hashlib.sha256()
    for text in [*TEXTS, *(each[1] for each in examples["examples"])]:
        digest.update(json.dumps(render_note(text).to_json()).encode())
    assert (VERSION, digest.hexdigest()[:16]) == MADE


def test_note_is_read_back_from_json() -> None:
    note = render_note(TEXTS[0])
    assert RenderedNote.from_json(json.loads(json.dumps(note.to_json()))) == note
