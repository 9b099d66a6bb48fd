"""The pages that readers of published links see: the same for everybody, without a session."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import jinja2
from babel.dates import format_date
from markupsafe import Markup, escape

from octavo.features.legal.rules import LegalTexts
from octavo.features.publishing import views
from octavo.features.publishing.pages.outline import outline_of
from octavo.features.publishing.rules import LONGEST_NOTE, REASONS
from octavo.http.pages.frame import for_everybody, forget_pages
from octavo.http.pages.static_files import page_files
from octavo.templates import loader_of

_MOST_OPEN = 100
"""Notes of a list whose folders are all open at first."""
_MOST_NAMES = 4
"""Folders that the heading of a folder names."""
_FRAMES = (
    "card.html",
    "page.html",
    "pieces.html",
    "publishing/published/card.html",
    "publishing/published/frame.html",
)
"""The templates that those of the pages extend and import."""


def published_pages(public_url: str, legal: LegalTexts) -> views.PublishedPages:
    """Return the pages of the installation at ``public_url``, a URL without a trailing slash.

    Each page is a pure function of its view, and links to the documents ``legal``. Everything that
    a page needs is loaded here, which takes tens of milliseconds: call this in a thread.
    """
    environment = jinja2.Environment(
        loader=loader_of(["publishing"]), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    forget_pages(environment)
    environment.globals.update(page_files(public_url, legal.links).variables)
    environment.globals.update(for_everybody())
    environment.globals.update(reasons=REASONS, longest_note=LONGEST_NOTE, counted=_counted)
    return _RenderedPages(environment)


class _RenderedPages:
    def __init__(self, environment: jinja2.Environment) -> None:
        self._note = environment.get_template("publishing/published/note.html")
        self._folder = environment.get_template("publishing/published/folder.html")
        self._closed = environment.get_template("publishing/published/closed.html")
        self._report = environment.get_template("publishing/published/report.html")
        self._reported = environment.get_template("publishing/published/reported.html")
        self._refused = environment.get_template("publishing/published/refused.html")
        # Compile what these extend and import now: otherwise the first request would block others.
        for name in _FRAMES:
            environment.get_template(name)
        _day(0)

    def note(self, view: views.NoteView) -> str:
        """Return the page of a note."""
        return self._note.render(
            note=view,
            # The sanitiser made the HTML safe; a text that could not be rendered is not HTML.
            html=Markup(view.html),
            outline=list(outline_of(view.outline)),
            day=_day(view.changed_at),
            language=_language(view.language),
            title=view.title,
            shared_title=view.title,
            description=view.description,
            kind="article",
            label=view.label,
            report=view.report,
        )

    def folder(self, view: views.FolderView) -> str:
        """Return the page that lists the notes of a folder link."""
        return self._folder.render(
            sections=list(_sections(view.folder)),
            count=view.count,
            open=view.count <= _MOST_OPEN,
            title=view.folder.name,
            shared_title=view.label or "Notes",
            description=_counted(view.count),
            kind="website",
            label=view.label,
            report=view.report,
        )

    def closed(self, report: str) -> str:
        """Return the one page of every link that opens nothing, or nothing yet."""
        return self._closed.render(report=report)

    def report(self) -> str:
        """Return the form to report a link."""
        return self._report.render()

    def reported(self) -> str:
        """Return the page that follows the form."""
        return self._reported.render()

    def refused(self, title: str, detail: str, request_id: str) -> str:
        """Return the page of a request that was refused."""
        return self._refused.render(title=title, detail=detail, request_id=request_id)


class _Section(NamedTuple):
    """The notes of one folder, with its name and the names of the folders around it.

    ``anchors`` are its own, and those of the folders around it that have no section.
    """

    names: Sequence[str]
    anchors: Sequence[str]
    notes: Sequence[views.NoteEntry]


def _sections(folder: views.FolderEntry) -> Iterator[_Section]:
    """Yield the folders that have notes of their own, each before those within it.

    The names of the first, the published folder itself, are empty.
    """
    waiting: list[tuple[tuple[str, ...], views.FolderEntry]] = [((), folder)]
    anchors: list[str] = []
    while waiting:
        names, entry = waiting.pop()
        anchors.append(views.folder_anchor(names))
        if entry.notes:
            shown = names if len(names) <= _MOST_NAMES else ("…", *names[-_MOST_NAMES:])
            yield _Section(shown, anchors, entry.notes)
            anchors = []
        waiting.extend(((*names, inner.name), inner) for inner in reversed(entry.folders))


class _Day(NamedTuple):
    """A day in UTC, for programs and for people."""

    tag: str
    text: str


def _day(time: int) -> _Day:
    """Return the day of a time in milliseconds of Unix time."""
    moment = datetime.fromtimestamp(time / 1000, UTC)
    return _Day(f"{moment:%Y-%m-%d}", format_date(moment, "d MMMM y", locale="en"))


def _language(tag: str | None) -> Markup:
    """Return the attribute of an element in a language."""
    return Markup(' lang="{}"').format(escape(tag)) if tag else Markup()


def _counted(count: int) -> str:
    return "1 note" if count == 1 else f"{count:,} notes"
