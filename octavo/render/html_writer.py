"""Write HTML whose elements are nested as browsers nest them.

Markdown is nested by itself, but a person may write any tag between. `HtmlWriter` keeps the open
elements, drops tags that have no place, and closes what a new element ends (HTML, section 13.2.6),
so that a parser of HTML finds exactly the elements that were written: neither more of them, which
can be very many, nor others.
"""

from octavo.render.allowed import BLOCKS, HEADINGS, TABLE_PARTS

MAX_DEPTH = 100
"""Open elements; tags of a person that would nest more deeply are dropped."""

_STRUCTURE = frozenset({"table", "tbody", "tfoot", "thead", "tr"})
"""Elements that hold nothing but parts of a table."""
_SECTIONS = frozenset({"tbody", "tfoot", "thead"})
_CELLS = frozenset({"caption", "td", "th"})
_IN_TABLE = _CELLS | _STRUCTURE
_LISTS = frozenset({"ol", "ul"})
# An element of these ends one of those named, up to any block other than these.
_ENDS = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "rt": frozenset({"rt", "rp"}),
    "rp": frozenset({"rt", "rp"}),
}
_PASSED = frozenset({"div", "p"})


def escaped(text: str) -> str:
    """Return ``text`` as the content of an element."""
    if "&" in text or "<" in text or ">" in text:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text


def escaped_value(text: str) -> str:
    """Return ``text`` as the value of an attribute in double quotes, as nh3 writes it."""
    return escaped(text).replace('"', "&quot;").replace("\xa0", "&nbsp;")


class HtmlWriter:
    """HTML in the making: text, elements of Markdown, and elements of a person."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._names: list[str] = []
        # For each open element, whether a person wrote it.
        self._written: list[bool] = []
        # Whether a person wrote an element: until then, no element ends another.
        self._mixed = False
        # Where the content of open elements begins that will be left out.
        self._left_out: dict[int, int] = {}

    def html(self) -> str:
        """Close all elements, and return the HTML."""
        self.close_all()
        return "".join(self.parts)

    def close_all(self) -> None:
        """Close all open elements."""
        self._close_from(0)

    def is_within(self, name: str) -> bool:
        """Return whether an element with the name is open."""
        return name in self._names

    def text(self, text: str) -> None:
        """Write text, escaped."""
        if self._mixed and text.strip():
            self._leave_structure()
        self.parts.append(escaped(text))

    def void(self, html: str, name: str = "") -> None:
        """Write an element without an end tag, or one that is complete in itself."""
        if self._mixed:
            self._make_room(name)
        self.parts.append(html)

    def open(self, name: str, attributes: str = "") -> None:
        """Open an element of Markdown; ``attributes`` are escaped and begin with a space."""
        if self._mixed:
            self._make_room(name)
        self._names.append(name)
        self._written.append(False)
        self.parts.append(f"<{name}{attributes}>")

    def close(self, name: str) -> None:
        """Close the innermost element of Markdown with the name, and what is open in it."""
        if not self._mixed:
            del self._names[-1], self._written[-1]
            self.parts.append(f"</{name}>")
            return
        at = len(self._names) - 1
        while at >= 0 and (self._written[at] or self._names[at] != name):
            # An element that a person's tag has closed before is in none of these.
            if not self._written[at] and self._names[at] in BLOCKS and name not in BLOCKS:
                return
            at -= 1
        if at >= 0:
            self._close_from(at)

    def open_written(self, name: str, attributes: str = "") -> bool:
        """Open an element of a person; return False if it has no place."""
        self._mixed = True
        if len(self._names) >= MAX_DEPTH or (name == "a" and "a" in self._names):
            return False
        if name in HEADINGS and not HEADINGS.isdisjoint(self._names):
            return False
        if name in TABLE_PARTS:
            if not self._open_table_part(name):
                return False
        elif name in _ENDS:
            if not self._end_similar(name):
                return False
            self._make_room(name)
        else:
            self._make_room(name)
        self._push(name, attributes)
        return True

    def leave_out(self, name: str) -> None:
        """Leave out everything until the end tag of an element of a person."""
        self._mixed = True
        if len(self._names) < MAX_DEPTH:
            self._left_out[len(self._names)] = len(self.parts)
            self._names.append(name)
            self._written.append(True)

    def close_written(self, name: str) -> None:
        """Close the innermost element of a person with the name, unless Markdown is between."""
        at = len(self._names) - 1
        while at >= 0 and self._written[at]:
            open_name = self._names[at]
            if open_name == name:
                self._close_from(at)
                return
            if open_name == "table" or (open_name in _CELLS and name not in _IN_TABLE):
                return
            if name == "li" and open_name in _LISTS:
                return
            at -= 1

    def _push(self, name: str, attributes: str) -> None:
        self._names.append(name)
        self._written.append(True)
        self.parts.append(f"<{name}{attributes}>")

    def _close_from(self, at: int) -> None:
        while len(self._names) > at:
            name = self._names.pop()
            self._written.pop()
            begin = self._left_out.pop(len(self._names), None) if self._left_out else None
            if begin is None:
                self.parts.append(f"</{name}>")
            else:
                del self.parts[begin:]

    def _make_room(self, name: str) -> None:
        """Close what an element with the name ends."""
        self._leave_structure(name)
        if name not in BLOCKS:
            return
        for at in range(len(self._names) - 1, -1, -1):
            if self._names[at] == "p":
                self._close_from(at)
                break
            if self._names[at] in _IN_TABLE:
                break
        if name in HEADINGS and self._names and self._names[-1] in HEADINGS:
            self._close_from(len(self._names) - 1)

    def _leave_structure(self, name: str = "") -> None:
        """Close the table of a person that has no place for content that is not in a cell."""
        if not self._names or self._names[-1] not in _STRUCTURE or not self._written[-1]:
            return
        if name in TABLE_PARTS:
            return
        at = len(self._names) - 1
        while self._names[at] != "table":
            at -= 1
        self._close_from(at)

    def _end_similar(self, name: str) -> bool:
        """Close the item that a further item ends; return False if it is one of Markdown."""
        for at in range(len(self._names) - 1, -1, -1):
            open_name = self._names[at]
            if open_name in _ENDS[name]:
                if not all(self._written[at:]):
                    return False
                self._close_from(at)
                return True
            if open_name in _IN_TABLE or (open_name in BLOCKS and open_name not in _PASSED):
                return True
        return True

    def _open_table_part(self, name: str) -> bool:
        """Open what a part of a table is in; return False outside a table of a person."""
        table = len(self._names) - 1
        while table >= 0 and self._written[table] and self._names[table] != "table":
            table -= 1
        if table < 0 or not self._written[table]:
            return False
        # Below a table there are at most a section, a row in it, and a cell in that.
        keeps = _SECTIONS if name == "tr" else _SECTIONS | {"tr"} if name in ("td", "th") else ()
        keep = table
        while keep + 1 < len(self._names) and self._names[keep + 1] in keeps:
            keep += 1
        self._close_from(keep + 1)
        if name in ("td", "th", "tr") and self._names[-1] == "table":
            self._push("tbody", "")
        if name in ("td", "th") and self._names[-1] != "tr":
            self._push("tr", "")
        return True
