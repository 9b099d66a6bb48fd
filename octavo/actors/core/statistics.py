"""What is counted of mailboxes, actors and directories, for operators to read."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.actors.core.histogram import Histogram


@dataclass(frozen=True, slots=True)
class MailboxStatistics:
    """A mailbox as seen from outside.

    Attributes:
        depth: messages that wait to be taken.
        capacity: the bound on `depth` for ordinary senders.
        senders_waiting: tasks that wait for a place.
        peak: the greatest depth so far.
        oldest_age: seconds that the first message has waited; 0.0 when empty.
        closed: whether new messages are refused.
    """

    depth: int
    capacity: int
    senders_waiting: int
    peak: int
    oldest_age: float
    closed: bool


class ActorStatistics:
    """Counters of one actor, or of all actors of one directory."""

    __slots__ = ("handling", "refused", "wait")

    def __init__(self) -> None:
        """Start at zero."""
        self.wait = Histogram()
        self.handling = Histogram()
        self.refused = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryStatistics:
    """A directory as seen from outside.

    Attributes:
        awake: keys that have an actor, at most ``max_awake``.
        idle: of these, how many wait for messages.
        in_line: keys that wait for a place among the awake.
        resting: crashed keys that wait for their backoff.
        quarantined: keys whose messages are refused.
        remembered: all keys that are not forgotten.
        activations: since the start.
        passivations: since the start.
        crashes: since the start.
    """

    awake: int
    idle: int
    in_line: int
    resting: int
    quarantined: int
    remembered: int
    activations: int
    passivations: int
    crashes: int
