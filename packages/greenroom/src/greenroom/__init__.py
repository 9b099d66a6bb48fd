"""Supervised actors on trio: typed asks, bounded mailboxes, restarts, virtual actors.

The testing kit is `greenroom.testing`.
"""

from greenroom.actor import Actor, ActorContext
from greenroom.directory import Directory
from greenroom.errors import (
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
from greenroom.mailbox import Envelope, EnvelopeState
from greenroom.message import UNANSWERED, Message, MessageFor, Reply
from greenroom.monitor import Down, Monitor, StopReason
from greenroom.ref import ActorRef
from greenroom.restart import Backoff, Intensity, QuarantineRule, Restart, Strategy
from greenroom.runtime import Faults, Observer, Runtime
from greenroom.specs import ActorSpec, DirectorySpec, SupervisorSpec, WorkerContext, WorkerSpec
from greenroom.statistics import DirectoryStatistics, HistogramSnapshot, MailboxStatistics
from greenroom.supervisor import Branch, Supervisor
from greenroom.timers import Timer
from greenroom.tree import TreeNode, render_tree

__version__ = "0.1.0"

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
    "MailboxFull",
    "MailboxStatistics",
    "Message",
    "MessageFor",
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
