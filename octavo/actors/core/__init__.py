"""Supervised actors on trio: typed asks, bounded mailboxes, restarts, virtual actors.

The package depends only on trio and can be used without the rest of Octavo.
"""

from octavo.actors.core.actor import Actor, ActorContext
from octavo.actors.core.backoff import Backoff
from octavo.actors.core.branch import Branch
from octavo.actors.core.child import WorkerContext
from octavo.actors.core.directory import Directory
from octavo.actors.core.envelope import Envelope, EnvelopeState
from octavo.actors.core.errors import (
    ActorCrashed,
    ActorError,
    ActorNotFound,
    ActorQuarantined,
    ActorStopped,
    AskCycle,
    BadReply,
    InvalidActor,
    MailboxFull,
    MessageTypeError,
    NotExecuted,
    OutcomeUnknown,
    Refusal,
    RestartIntensityExceeded,
    StartTimeout,
    is_crash,
    unwrap,
)
from octavo.actors.core.mailbox import Mailbox
from octavo.actors.core.message import UNANSWERED, Message, Reply
from octavo.actors.core.monitor import Down, Monitor, StopReason
from octavo.actors.core.quarantine import QuarantineRule
from octavo.actors.core.ref import ActorRef
from octavo.actors.core.restart import Intensity, Restart, Strategy
from octavo.actors.core.runtime import Faults, Observer, Runtime
from octavo.actors.core.specs import ActorSpec, DirectorySpec, SupervisorSpec, WorkerSpec
from octavo.actors.core.statistics import DirectoryStatistics, HistogramSnapshot, MailboxStatistics
from octavo.actors.core.supervisor import Supervisor
from octavo.actors.core.timers import Timer
from octavo.actors.core.tree import TreeNode, render_tree

__all__ = [
    "UNANSWERED",
    "Actor",
    "ActorContext",
    "ActorCrashed",
    "ActorError",
    "ActorNotFound",
    "ActorQuarantined",
    "ActorRef",
    "ActorSpec",
    "ActorStopped",
    "AskCycle",
    "Backoff",
    "BadReply",
    "Branch",
    "Directory",
    "DirectorySpec",
    "DirectoryStatistics",
    "Down",
    "Envelope",
    "EnvelopeState",
    "Faults",
    "HistogramSnapshot",
    "Intensity",
    "InvalidActor",
    "Mailbox",
    "MailboxFull",
    "MailboxStatistics",
    "Message",
    "MessageTypeError",
    "Monitor",
    "NotExecuted",
    "Observer",
    "OutcomeUnknown",
    "QuarantineRule",
    "Refusal",
    "Reply",
    "Restart",
    "RestartIntensityExceeded",
    "Runtime",
    "StartTimeout",
    "StopReason",
    "Strategy",
    "Supervisor",
    "SupervisorSpec",
    "Timer",
    "TreeNode",
    "WorkerContext",
    "WorkerSpec",
    "is_crash",
    "render_tree",
    "unwrap",
]
