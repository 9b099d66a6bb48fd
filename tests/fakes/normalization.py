"""Watch what is normalized: how many combining marks in a row it contains."""

import re
import unicodedata
from typing import Literal

import pytest

_RUN = re.compile("[\u0300\u0316]+")


class Runs:
    """Normalizes texts, and records the longest run of U+0300 and U+0316 seen.

    A text with a run above ``limit`` is returned unchanged: normalizing it would take minutes.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._normalize = unicodedata.normalize
        self.longest = 0

    def normalize(self, form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
        longest = max(map(len, _RUN.findall(text)), default=0)
        self.longest = max(self.longest, longest)
        return text if longest > self._maximum else self._normalize(form, text)


def watch(patch: pytest.MonkeyPatch, maximum: int) -> Runs:
    """Patch normalization for all texts; return the recorder."""
    runs = Runs(maximum)
    patch.setattr(unicodedata, "normalize", runs.normalize)
    return runs
