"""A rendered note, as the parts of its page: without anything that renders."""

from typing import NamedTuple, TypedDict, cast

from octavo.render.references import FileReference

VERSION = 2
"""The version of the renderer's output. A change of the output increases it, and notes are rendered
again."""


class OutlineHeading(NamedTuple):
    """A heading of a note: its level (1 to 6), its plain text, and its anchor."""

    level: int
    text: str
    anchor: str


class NoteJson(TypedDict):
    """A rendered note as JSON, which has lists in place of tuples."""

    html: str
    references: tuple[FileReference, ...]
    outline: tuple[OutlineHeading, ...]
    title: str
    language: str | None
    description: str
    words: int


class RenderedNote(NamedTuple):
    """A note as the parts of its page, which depend on its text alone.

    Attributes:
        html: its body, sanitised. Links to files of the workspace have addresses ``octavo:N`` with
            the index N of a reference; `octavo.render.references.place_references` replaces them.
        references: the files that it refers to.
        outline: the headings in ``html``.
        title: its title, plain text; may be empty. It is not in ``html``.
        language: the tag of its language (RFC 5646), if it names one.
        description: the beginning of its text, plain; may be empty.
        words: the number of its words.
    """

    html: str
    references: tuple[FileReference, ...]
    outline: tuple[OutlineHeading, ...]
    title: str
    language: str | None
    description: str
    words: int

    def to_json(self) -> NoteJson:
        """Return the note as a value that JSON can express: named tuples become lists there."""
        return cast(NoteJson, self._asdict())

    @classmethod
    def from_json(cls, value: NoteJson) -> "RenderedNote":
        """Return the note that `to_json` returned, also after its way through JSON."""
        note = cls(**value)
        return note._replace(
            references=tuple([FileReference(*reference) for reference in note.references]),
            outline=tuple([OutlineHeading(*heading) for heading in note.outline]),
        )
