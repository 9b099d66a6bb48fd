"""Judge a run of access: what processes answered, and what streams were sent and when they ended.

Written from the contract: a request is served by what is committed; a stream tells every position
of the workspaces that it listens to after its commit, and ends when its session, its key or a
membership ends. Both happen at once where a process can know, and at the next check otherwise.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from octavo_rules.identity import WorkspaceId

from tests.simulation.access_acts import Done, Looked
from tests.simulation.access_device import Event, Stream
from tests.simulation.access_disk import Moment
from tests.simulation.channel import ListeningStore
from tests.simulation.verdict import Violated

FAST = 3.0
"""Seconds in which everything happens that needs no check: delays by faults, and slow sockets."""
CHECK_SECONDS = 10.0
"""Seconds between two checks of a stream, in which it finds what nobody told its process."""
INSTANT = 0.01
"""Seconds for which nothing is sure of the end of a key: times are rounded."""
NEVER = float("inf")


@dataclass
class AccessRun:
    """What happened.

    Attributes:
        revoked: the credentials whose end was acknowledged, and when.
        fresh: seconds for which a process that is alone may answer from its caches.
        ended: when it was over.
    """

    moments: Sequence[Moment]
    streams: Sequence[Stream]
    done: Sequence[Done]
    looked: Sequence[Looked]
    revoked: Mapping[str, float]
    listening: Mapping[str, ListeningStore | None]
    fresh: float
    ended: float

    @cached_property
    def times(self) -> list[float]:
        """The times of the moments."""
        return [moment.at for moment in self.moments]

    @cached_property
    def shared(self) -> bool:
        """Whether several processes ran."""
        return any(each is not None for each in self.listening.values())

    def index(self, at: float) -> int:
        """Return the index of the last moment that began by a time."""
        return max(0, bisect_right(self.times, at) - 1)

    def before(self, at: float) -> int:
        """Return the index of the moment that lasted until a time: commits at it are later."""
        index = self.index(at)
        while index and self.times[index] == at:
            index -= 1
        return index

    def between(self, begin: float, end: float) -> Sequence[Moment]:
        """Return what was committed at some time between two."""
        return self.moments[self.before(begin) : self.index(end) + 1]


def judge_access(run: AccessRun) -> None:
    """Raise `Violated` for everything that should not have happened."""
    found = [
        *_faults_of_positions(run.moments),
        *_faults_of_looks(run),
        *_faults_of_revocations(run),
        *(fault for stream in run.streams for fault in faults_of_stream(run, stream)),
    ]
    if found:
        raise Violated(found)


def _faults_of_positions(moments: Sequence[Moment]) -> Iterator[str]:
    newest: dict[WorkspaceId, int] = {}
    for moment in moments:
        for workspace_id, position in moment.positions.items():
            if position < newest.get(workspace_id, 0):
                yield f"{workspace_id} went back to {position}"
            newest[workspace_id] = position


def _faults_of_revocations(run: AccessRun) -> Iterator[str]:
    for credential_id, at in run.revoked.items():
        if any(credential_id in moment.credentials for moment in run.moments[run.index(at) :]):
            yield f"{credential_id} was revoked at {at:.2f}, and is still there"


def _faults_of_looks(run: AccessRun) -> Iterator[str]:
    for look in run.looked:
        begin = look.began if run.shared else _uncertain_since(run, look)
        moments = run.between(begin, look.ended)
        held, member = look.held, (look.workspace_id, look.account_id)
        credible = [moment.credentials.get(held.credential_id) in moment.open for moment in moments]
        roles = {moment.members.get(member) for moment in moments}
        if look.found is None:
            lasting = all(credible) and None not in roles and look.ended < held.expires_at - INSTANT
        else:
            lasting = look.found not in roles
            if not any(credible) or look.began > held.expires_at + INSTANT:
                yield f"{held.credential_id} served {look.found} at {look.ended:.2f} after its end"
        if lasting:
            yield f"{member} was served as {look.found} at {look.ended:.2f}, not as one of {roles}"


def _uncertain_since(run: AccessRun, look: Looked) -> float:
    """Return from when on a process that is alone may answer from its caches."""
    since = look.began
    for done in run.done:
        if done.began < look.began:
            if done.ended >= look.began:
                # It may be committed, and not be acknowledged yet.
                since = min(since, done.began)
            elif not done.certain and done.ended > look.began - run.fresh - FAST:
                # It may have been committed after the process forgot what it had cached.
                since = min(since, done.began, look.began - run.fresh)
    return since


# Streams


def faults_of_stream(run: AccessRun, stream: Stream) -> Iterator[str]:
    """Judge a stream."""
    if not stream.opened:
        return
    name = f"the {stream.name}"
    yield from (f"{name} {fault}" for fault in _faults_of_events(run, stream))
    yield from (f"{name} {fault}" for fault in _faults_of_end(run, stream))
    for workspace_id, begin, _, end in _subscriptions(run, stream):
        for fault in _missing(run, stream, workspace_id, begin, end):
            yield f"{name} {fault}"


def _faults_of_events(run: AccessRun, stream: Stream) -> Iterator[str]:
    """Judge each message by what was committed then."""
    sent: dict[WorkspaceId, int] = {}
    asked: dict[WorkspaceId, float] = {}
    known: set[WorkspaceId] = set()
    for event in stream.events:
        workspace_id, position = event.workspace_id, event.position or 0
        now = run.moments[run.index(event.at)]
        committed = now.positions.get(workspace_id, NEVER)
        if event.kind == "subscribe":
            asked.setdefault(workspace_id, event.at)
        elif event.kind == "unsubscribe":
            sent.pop(workspace_id, None)
        elif event.kind == "gone":
            never = not any(_member(each, stream, workspace_id) for each in run.moments)
            if event.reason == "deleted" and workspace_id not in known and never:
                yield f"was told of the end of {workspace_id}, which it could never see"
            begin = asked.get(workspace_id, event.at) if workspace_id not in sent else event.at
            if not _was_gone(run, stream, event, min(begin, event.at - FAST)):
                yield f"was told {event.reason} of {workspace_id}, which it could see"
            sent.pop(workspace_id, None)
            asked.pop(workspace_id, None)
        elif position > committed:
            yield f"was told {position} of {workspace_id}, before it was committed"
        elif event.kind == "subscribed":
            begin = asked.pop(workspace_id, event.at)
            if not any(_member(m, stream, workspace_id) for m in run.between(begin, event.at)):
                yield f"follows {workspace_id} without being a member"
            least = run.moments[run.before(begin)].positions.get(workspace_id, 0)
            if position < least:
                yield f"begins {workspace_id} at {position} instead of {least}"
            sent[workspace_id] = position
            known.add(workspace_id)
        elif workspace_id not in known:
            yield f"was told {position} of {workspace_id}, which it was not subscribed to"
        elif workspace_id in sent:
            if position <= sent[workspace_id]:
                yield f"was told {position} of {workspace_id} after {sent[workspace_id]}"
            sent[workspace_id] = position


def _was_gone(run: AccessRun, stream: Stream, event: Event, begin: float) -> bool:
    moments = run.between(begin, event.at)
    if event.reason == "deleted":
        return event.workspace_id not in moments[-1].positions
    return any(not _member(moment, stream, event.workspace_id) for moment in moments)


def _faults_of_end(run: AccessRun, stream: Stream) -> Iterator[str]:
    """A stream ends when its access does, and not before."""
    credible = partial(_credible, stream=stream)
    if stream.code == 1008:
        begin = max(stream.began, stream.ended - CHECK_SECONDS - FAST)
        lasting = all(map(credible, run.between(begin, stream.ended)))
        left = any(e.kind == "gone" and e.reason == "not_found" for e in stream.events[-3:])
        if lasting and not left and stream.ended < stream.expires_at - INSTANT:
            yield "was closed, and its credential still worked"
    end = min(stream.ended, run.ended)
    yield from _outlived(run, stream, "its credential", credible, stream.entered, end)
    if _deadline(run, stream, stream.expires_at, checked=True, heard=False) < end:
        yield "outlived the expiry of its credential"
    for workspace_id, _, begin, end in _subscriptions(run, stream):
        member = partial(_member, stream=stream, workspace_id=workspace_id)
        what = f"its membership of {workspace_id}"
        yield from _outlived(run, stream, what, member, begin, end)


def _outlived(
    run: AccessRun,
    stream: Stream,
    what: str,
    holds: Callable[[Moment], bool],
    begin: float,
    end: float,
) -> Iterator[str]:
    """Find times at which something that the stream depends on ended, and the stream did not."""
    first, last = run.before(begin), run.index(end)
    for index in range(first, last + 1):
        moment = run.moments[index]
        if holds(moment) or (index > first and not holds(run.moments[index - 1])):
            continue
        at = max(moment.at, begin)
        # What ended while it was looked up may be found at the next check.
        by = _deadline(run, stream, at, checked=True, heard=moment.at > begin)
        if by < end and not any(map(holds, run.moments[index : run.index(by) + 1])):
            yield f"outlived {what}, which ended at {at:.2f}, beyond {by:.2f}"


def _missing(
    run: AccessRun, stream: Stream, workspace_id: WorkspaceId, begin: float, end: float
) -> Iterator[str]:
    """Find positions that the device was not told in time."""
    told = [
        event
        for event in stream.events
        if event.workspace_id == workspace_id and event.kind in ("subscribed", "changed")
    ]
    before = 0
    for moment in run.moments:
        position = moment.positions.get(workspace_id)
        if position is None or position == before:
            continue
        before = position
        if not begin < moment.at < end:
            continue
        by = _deadline(run, stream, moment.at, checked=False)
        in_time = (each.at <= by and (each.position or 0) >= position for each in told)
        if by < end and not any(in_time):
            yield f"was not told {position} of {workspace_id}, of {moment.at:.2f}, by {by:.2f}"


def _deadline(
    run: AccessRun, stream: Stream, at: float, *, checked: bool, heard: bool = True
) -> float:
    """Return until when the stream has to reflect a commit.

    ``checked``: whether it has to read the store for that, which may fail. ``heard``: whether what
    its process hears of the commit reaches it.
    """
    by = at
    for number in range(1, 100):
        by = at + number * CHECK_SECONDS + FAST
        if sum(at <= each <= by for each in stream.failed) < number:
            break
    fast = min(_heard(run, stream, at), by) if heard else by
    if checked and any(at <= each <= fast for each in stream.failed):
        return by
    return fast


def _heard(run: AccessRun, stream: Stream, at: float) -> float:
    """Return until when the process must have heard of a commit; infinity if it may never."""
    listening = run.listening[stream.place]
    if listening is None:
        # A change that was given up may be committed later than its process forgot what it knew.
        pending = [
            done
            for done in run.done
            if done.began <= at <= (done.ended if done.certain else done.ended + FAST)
        ]
        if all(done.certain for done in pending):
            return max((done.ended for done in pending), default=at) + FAST
        return NEVER
    for begin, end in listening.up:
        if begin <= at and end > at + FAST:
            return at + FAST
    for gap in listening.gaps:
        lasting = any(begin <= gap and end > gap + FAST for begin, end in listening.up)
        failed = any(gap <= each <= gap + FAST for each in listening.failed)
        if gap >= at and lasting and not failed:
            return gap + FAST
    return NEVER


def _subscriptions(
    run: AccessRun, stream: Stream
) -> Iterator[tuple[WorkspaceId, float, float, float]]:
    """Return when the device asked to follow each workspace, from when it did, and until when."""
    asked: dict[WorkspaceId, float] = {}
    begun: dict[WorkspaceId, float] = {}
    for event in stream.events:
        workspace_id = event.workspace_id
        if event.kind == "subscribe":
            asked.setdefault(workspace_id, event.at)
        elif event.kind == "subscribed":
            begun.setdefault(workspace_id, event.at)
        elif event.kind in ("unsubscribe", "gone"):
            if workspace_id in begun:
                begin = begun.pop(workspace_id)
                yield workspace_id, asked[workspace_id], begin, event.at
            asked.pop(workspace_id, None)
    for workspace_id, begin in begun.items():
        yield workspace_id, asked.get(workspace_id, begin), begin, min(stream.ended, run.ended)


def _credible(moment: Moment, stream: Stream) -> bool:
    account_id = moment.credentials.get(stream.credential_id)
    return account_id == stream.account_id and account_id in moment.open


def _member(moment: Moment, stream: Stream, workspace_id: WorkspaceId) -> bool:
    return (workspace_id, stream.account_id) in moment.members
