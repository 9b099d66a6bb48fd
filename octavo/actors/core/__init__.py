"""Supervised actors on trio: typed asks, bounded mailboxes, restarts, virtual actors.

It depends on trio alone and knows nothing of the service round it.
"""

from .actor import Actor, ActorContext
from .backoff import Backoff
from .branch import Branch
from .child import WorkerContext
from .directory import Directory
from .envelope import Envelope, EnvelopeState
from .errors import (
    ActorCrashed,
    ActorError,
    ActorQuarantined,
    ActorStopped,
    AskCycle,
    BadReply,
    MailboxFull,
    NotExecuted,
    OutcomeUnknown,
    Refusal,
    RestartIntensityExceeded,
    StartTimeout,
)
from .histogram import HistogramSnapshot
from .mailbox import Mailbox
from .message import Message, Reply
from .monitor import Down, Monitor, StopReason
from .quarantine import QuarantineRule
from .ref import ActorRef
from .restart import Intensity, Restart, Strategy
from .runtime import Faults, Observer, Runtime
from .specs import ActorSpec, DirectorySpec, SupervisorSpec, WorkerSpec
from .statistics import DirectoryStatistics, MailboxStatistics
from .supervisor import Supervisor
from .timers import Timer
from .tree import TreeNode, render_tree

__all__ = [
    "Actor",
    "ActorContext",
    "ActorCrashed",
    "ActorError",
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
    "Mailbox",
    "MailboxFull",
    "MailboxStatistics",
    "Message",
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
    "render_tree",
]
