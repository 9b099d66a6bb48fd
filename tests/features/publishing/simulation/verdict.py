"""Judge each page that a reader gets, by what was true while the reader waited for it."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, NamedTuple

import trio
from greenroom.testing import note
from octavo_rules.identity import FileId

from tests.features.publishing.simulation.timeline import Link, Moment, Notes, Timeline

TICKET_SECONDS = 2 * 3600
KEY_SECONDS = 1.0
"""Seconds for which a process may not know a key that another one has made."""
_MARK = re.compile(r"mark\d+x")
_NAMED = re.compile(r"\[\[(n\d+)\]\]")
_NOTE = re.compile(r"note=([0-9a-f-]{36})")
_TICKET = re.compile(r"ticket=([\w-]+)")


class Issued(NamedTuple):
    """The times between which a ticket was issued, in seconds of Unix time."""

    after: float
    before: float


@dataclass(eq=False)
class KnownLink:
    """A link whose creation was acknowledged.

    Attributes:
        link: its id.
        ending: whether somebody has tried to end it.
        ended: whether that was acknowledged.
        attempts: to open it with the right password.
        shown: pages that were shown after these.
        tickets: those that its readers have got.
    """

    link: str
    password: str | None
    openings: int | None
    ending: bool = False
    ended: bool = False
    attempts: int = 0
    shown: int = 0
    tickets: dict[str, Issued] = field(default_factory=dict)

    @property
    def needs_ticket(self) -> bool:
        return self.password is not None or self.openings is not None


@dataclass(eq=False)
class Address:
    """A token that a link is read by: its own, or that of a report.

    Attributes:
        closing: whether somebody has tried to close the report.
        closed: whether that was acknowledged.
    """

    token: str
    known: KnownLink
    closing: bool = False
    closed: bool = False


class Request(NamedTuple):
    """A request of a reader, with what was true when it began.

    Attributes:
        password: None for a page, which is read with or without a ticket.
        moment: the number of the moment.
        at: seconds of Unix time.
        clock: seconds of the run.
        ended: whether the end of the link was acknowledged.
    """

    address: Address
    note: FileId | None
    ticket: str | None
    password: str | None
    moment: int
    at: float
    clock: float
    ended: bool

    @property
    def what(self) -> str:
        """The request, for reports."""
        what = "read" if self.password is None else "open"
        return f"{what} {self.address.known.link} at {self.note or 'its beginning'}"

    @property
    def about(self) -> tuple[str, ...]:
        """What it concerns: the link, and the note."""
        return tuple(each for each in (self.address.known.link, self.note) if each)


class Verdict:
    """Judges the pages of readers.

    Args:
        timeline: what was true.
        now: the clock, in seconds of Unix time.
        violated: called with each violation.
        saw: called with every notable event.
    """

    def __init__(
        self,
        timeline: Timeline,
        now: Callable[[], float],
        violated: Callable[[str], None],
        saw: Callable[[str], None],
    ) -> None:
        self._timeline = timeline
        self._now = now
        self._violated = violated
        self._saw = saw
        self._closed_page: bytes | None = None

    def begin(
        self, address: Address, file_id: FileId | None, ticket: str | None, password: str | None
    ) -> Request:
        """Return a request that begins now."""
        known = address.known
        if password is not None and password == (known.password or password):
            known.attempts += 1
        return Request(
            address,
            file_id,
            ticket,
            password,
            len(self._timeline.moments) - 1,
            self._now(),
            trio.current_time(),
            known.ended or address.closed,
        )

    def end(self, request: Request, page: bytes) -> bool:
        """Judge the page of a request; return whether it shows something."""
        token = request.address.token.encode()
        given = json.loads(page.replace(token, b"TOKEN"))
        note(f"{request.what}: {given['kind']}", *request.about)
        moments = self._timeline.moments[request.moment :]
        if given["kind"] == "closed":
            page = page.replace(token, b"TOKEN")
            self._closed_page = self._closed_page or page
            if page != self._closed_page:
                self._fault(request, "two pages of closed links differ")
            reason = next(self._reasons(request, moments), None)
            if reason is None:
                self._fault(request, "a link is closed for no reason")
            else:
                self._saw(f"closed: {reason}")
            return False
        self._judge_access(request, moments)
        opened = [each for each in moments if self._open(request, each)]
        if given["kind"] == "folder":
            self._judge_list(given, request, opened)
        else:
            self._judge_note(given, request, opened)
        self._learn(request, page.decode())
        return True

    def _fault(self, request: Request, fault: str) -> None:
        """Report a violation, and the request that shows it."""
        self._violated(f"{fault}: {request.what}")

    def _link(self, request: Request, moment: Moment) -> Link | None:
        return moment.links.get(request.address.known.link)

    def _open(self, request: Request, moment: Moment) -> bool:
        link = self._link(request, moment)
        return link is not None and not link.ended

    # Why a page may be closed

    def _reasons(self, request: Request, moments: Sequence[Moment]) -> Iterator[str]:
        """Yield why a link may be closed to a request that ends now."""
        known, now = request.address.known, self._now()
        if known.ending:
            yield "ended"
        if request.address.closing:
            yield "report closed"
        [link, *_] = [self._link(request, each) for each in moments]
        if link is not None and link.expires_at is not None and 1000 * now >= link.expires_at:
            yield "expired"
        if request.password is None:
            yield from self._reasons_of_ticket(request, now)
        elif known.password not in (None, request.password):
            yield "password"
        elif known.openings is not None and known.attempts > known.openings:
            yield "openings"
        if any(not self._target_there(request, each) for each in moments):
            yield "nothing there"

    def _reasons_of_ticket(self, request: Request, now: float) -> Iterator[str]:
        known, ticket = request.address.known, request.ticket
        if not known.needs_ticket:
            return
        if ticket is None:
            yield "no ticket"
        elif ticket not in known.tickets:
            yield "foreign ticket"
        elif now >= int(known.tickets[ticket].after) + TICKET_SECONDS:
            yield "old ticket"
        elif request.clock < max(self._timeline.keys.values()) + KEY_SECONDS:
            yield "new key"

    def _target_there(self, request: Request, moment: Moment) -> bool:
        link = self._link(request, moment)
        if link is None:
            return False
        file_id = request.note or link.file_id
        if file_id is not None:
            return link.opens(moment.notes, file_id)
        return bool(link.opened(moment.notes))

    # What a page may show

    def _judge_access(self, request: Request, moments: Sequence[Moment]) -> None:
        """Check that the reader was admitted at all."""
        known = request.address.known
        link = self._link(request, moments[0])
        if request.ended or not any(self._open(request, each) for each in moments):
            self._fault(request, "a link shows something after its end")
        expires_at = None if link is None else link.expires_at
        if expires_at is not None and 1000 * request.at >= expires_at:
            self._fault(request, "a link shows something after its time")
        if request.password is not None:
            known.shown += 1
            if known.password not in (None, request.password):
                self._fault(request, "a wrong password opens a link")
            if known.openings is not None and known.shown > known.openings:
                self._fault(request, "a link is opened more often than it may be")
        elif known.needs_ticket:
            issued = known.tickets.get(request.ticket or "")
            if issued is None:
                self._fault(request, "a link is read without a ticket of its own")
            elif request.at >= issued.before + TICKET_SECONDS:
                self._fault(request, "a link is read with an old ticket")
            else:
                self._saw("read with a ticket")

    def _judge_list(
        self, page: dict[str, Any], request: Request, moments: Sequence[Moment]
    ) -> None:
        shown = set(_entries(page["folder"], ()))
        if not any(shown == set(_listed(self._link(request, each), each)) for each in moments):
            self._fault(request, f"a list shows what was never there: {shown}")
        if request.note is not None:
            self._fault(request, "a list is shown in place of a note")
        self._saw("list")

    def _judge_note(
        self, page: dict[str, Any], request: Request, moments: Sequence[Moment]
    ) -> None:
        marks = set(_MARK.findall(json.dumps(page)))
        expected = request.note
        found = [
            (each, link, file_id)
            for each in moments
            if (link := self._link(request, each)) is not None
            and (file_id := expected or link.file_id) is not None
            and link.opens(each.notes, file_id)
        ]
        if not found:
            self._fault(request, "a note is shown that the link did not open")
            return
        if not any(
            marks == set(_MARK.findall(each.notes[file_id].text)) for each, _, file_id in found
        ):
            self._fault(request, f"a note is shown with a text that it did not have: {marks}")
        crumbs = [name for name, _ in page["crumbs"]]
        beside = (crumbs, _id_in(page["previous"]), _id_in(page["following"]))
        if not any(beside == _beside(link, each.notes, file_id) for each, link, file_id in found):
            self._fault(request, f"a note is shown beside others than were there: {beside}")
        linked = set(_NOTE.findall(page["html"]))
        if not any(
            linked == set(_linked(link, each.notes, file_id)) for each, link, file_id in found
        ):
            self._fault(request, f"a note leads to others than the link opened: {linked}")
        self._saw("note")

    def _learn(self, request: Request, page: str) -> None:
        """Remember the tickets on a page."""
        known, issued = request.address.known, Issued(request.at, self._now())
        for ticket in _TICKET.findall(unescape(page)):
            if request.password is None:
                if ticket != request.ticket:
                    self._fault(request, "a page has another ticket than its reader")
            elif known.needs_ticket:
                known.tickets.setdefault(ticket, issued)
            else:
                self._fault(request, "a page of an open link has a ticket")


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _within(path: str, folder: str) -> Sequence[str]:
    """Return the names of the folders around a note, below ``folder``."""
    return (path[len(folder) + 1 :] if folder else path).split("/")[:-1]


def _listed(link: Link | None, moment: Moment) -> Iterator[tuple[tuple[str, ...], str, FileId]]:
    """Yield what the list of a folder link has to show."""
    if link is None or link.folder is None:
        return
    for file_id in link.opened(moment.notes):
        path = moment.notes[file_id].path
        yield (*_within(path, link.folder),), _name(path), file_id


def _entries(
    folder: dict[str, Any], around: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str, FileId]]:
    """Yield what a list shows."""
    for name, address in folder["notes"]:
        yield around, name, FileId(_NOTE.findall(address)[0])
    for each in folder["folders"]:
        yield from _entries(each, (*around, each["name"]))


def _id_in(crumb: list[str] | None) -> FileId | None:
    return None if crumb is None else FileId(_NOTE.findall(crumb[1])[0])


def _beside(
    link: Link, notes: Notes, file_id: FileId
) -> tuple[list[str], FileId | None, FileId | None]:
    """Return the crumbs of a note, and the notes before and after it."""
    if link.folder is None:
        return [], None, None
    opened = sorted(link.opened(notes), key=lambda each: _reading_order(notes[each].path))
    at = opened.index(file_id)
    before, after = opened[:at][-1:], opened[at + 1 :][:1]
    crumbs = [_name(link.folder) or "All notes", *_within(notes[file_id].path, link.folder)]
    return crumbs, before[0] if before else None, after[0] if after else None


def _reading_order(path: str) -> list[tuple[bool, str]]:
    """Return a key by which the notes of a folder precede those of the folders in it."""
    *folders, name = path.split("/")
    return [*((True, each) for each in folders), (False, name)]


def _linked(link: Link, notes: Notes, file_id: FileId) -> Iterator[FileId]:
    """Yield the notes that the links of a note lead to: those that it names and the link opens."""
    named = set(_NAMED.findall(notes[file_id].text))
    for each in link.opened(notes):
        if _name(notes[each].path) in named:
            yield each
