"""A rendered note, as the parts of its page: without anything that renders."""

from dataclasses import dataclass
from typing import NamedTuple, TypedDict

from octavo.render.references import FileReference

VERSION = 2
"""Of what the renderer makes: increased with each change of it, after which notes are rendered
again."""


class OutlineHeading(NamedTuple):
    """A heading of a note: its level (1 to 6), its plain text, and its anchor."""

    level: int
    text: str
    anchor: str


class NoteJson(TypedDict):
    """A rendered note as JSON."""

    html: str
    references: list[tuple[str, bool, str, str]]
    outline: list[tuple[int, str, str]]
    title: str
    language: str | None
    description: str
    words: int


@dataclass(frozen=True, slots=True)
class RenderedNote:
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
        """Return the note as a value that JSON can express."""
        return {
            "html": self.html,
            "references": [
                (each.kind, each.embed, each.target, each.heading) for each in self.references
            ],
            "outline": [(each.level, each.text, each.anchor) for each in self.outline],
            "title": self.title,
            "language": self.language,
            "description": self.description,
            "words": self.words,
        }

    @classmethod
    def from_json(cls, value: NoteJson) -> "RenderedNote":
        """Return the note that `to_json` returned, also after its way through JSON."""
        return cls(
            value["html"],
            tuple(
                FileReference("wiki" if kind == "wiki" else "standard", embed, target, heading)
                for kind, embed, target, heading in value["references"]
            ),
            tuple(OutlineHeading(*each) for each in value["outline"]),
            value["title"],
            value["language"],
            value["description"],
            value["words"],
        )
