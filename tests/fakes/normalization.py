"""Watch what is normalized: how many marks stand in a row in it."""

import re
import unicodedata
from typing import Literal

import pytest

_RUN = re.compile("[\u0300\u0316]+")


class Runs:
    """Normalizes texts, and remembers the most of U+0300 and U+0316 that stood in a row.

    A text with more than ``most`` is left as it is: it would take minutes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._normalize = unicodedata.normalize
        self.longest = 0

    def normalize(self, form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
        longest = max(map(len, _RUN.findall(text)), default=0)
        self.longest = max(self.longest, longest)
        return text if longest > self._most else self._normalize(form, text)


def watch(patch: pytest.MonkeyPatch, most: int) -> Runs:
    """Have all texts normalized by what this answers."""
    runs = Runs(most)
    patch.setattr(unicodedata, "normalize", runs.normalize)
    return runs
