"""The kit that tests what is built on the actor core, for developers outside of it too.

Histories: record what clients asked and learnt, then check that one order explains it all.
"""

from octavo.actors.testing.deterministic import Deadlock, Livelock, Run, Stuck, run_deterministic
from octavo.actors.testing.entry import Entry, Seen, Status, render_entries
from octavo.actors.testing.explore import Exploration, explore
from octavo.actors.testing.faults import CORE_POINTS, Fault, FaultKind, FaultPlan, InjectedCrash
from octavo.actors.testing.gate import ClockGate
from octavo.actors.testing.hindsight import settle_unknown
from octavo.actors.testing.history import History, HistoryError, Invocation
from octavo.actors.testing.interruption import (
    Interruption,
    cancel_at_checkpoint,
    cancel_at_every_checkpoint,
)
from octavo.actors.testing.linearizability import NotLinearizable, SearchLimit, check_linearizable
from octavo.actors.testing.model import Model
from octavo.actors.testing.operations import (
    Commit,
    Operation,
    Read,
    Register,
    Snapshot,
    Swap,
    Value,
    View,
)
from octavo.actors.testing.order import FeedEntry, OrderViolated, Rule, Violation, check_order
from octavo.actors.testing.register_model import RegisterModel
from octavo.actors.testing.scenario import current_schedule, scenario_random
from octavo.actors.testing.schedule_failure import ScheduleFailure
from octavo.actors.testing.schedules import MalformedSchedule, Schedule
from octavo.actors.testing.trio_scheduler import UnsupportedTrio
from octavo.actors.testing.workspace_model import WorkspaceModel

__all__ = [
    "CORE_POINTS",
    "ClockGate",
    "Commit",
    "Deadlock",
    "Entry",
    "Exploration",
    "Fault",
    "FaultKind",
    "FaultPlan",
    "FeedEntry",
    "History",
    "HistoryError",
    "InjectedCrash",
    "Interruption",
    "Invocation",
    "Livelock",
    "MalformedSchedule",
    "Model",
    "NotLinearizable",
    "Operation",
    "OrderViolated",
    "Read",
    "Register",
    "RegisterModel",
    "Rule",
    "Run",
    "Schedule",
    "ScheduleFailure",
    "SearchLimit",
    "Seen",
    "Snapshot",
    "Status",
    "Stuck",
    "Swap",
    "UnsupportedTrio",
    "Value",
    "View",
    "Violation",
    "WorkspaceModel",
    "cancel_at_checkpoint",
    "cancel_at_every_checkpoint",
    "check_linearizable",
    "check_order",
    "current_schedule",
    "explore",
    "render_entries",
    "run_deterministic",
    "scenario_random",
    "settle_unknown",
]
