"""A testing kit for programs that are built on the actor core, or on trio alone.

Deterministic runs, a search over schedules, fault injection, and histories that are checked for
linearizability.
"""

from greenroom.testing.clock_gate import ClockGate
from greenroom.testing.deterministic import Deadlock, Livelock, Run, Stuck, run_deterministic
from greenroom.testing.explore import Exploration, explore
from greenroom.testing.faults import CORE_POINTS, Fault, FaultKind, FaultPlan, InjectedCrash
from greenroom.testing.history import (
    History,
    HistoryEntry,
    HistoryError,
    Invocation,
    Seen,
    Status,
    render_entries,
)
from greenroom.testing.interruption import (
    Interruption,
    cancel_at_checkpoint,
    cancel_at_every_checkpoint,
)
from greenroom.testing.journal import note, note_fault
from greenroom.testing.linearizability import (
    Model,
    NotLinearizable,
    SearchLimit,
    check_linearizable,
)
from greenroom.testing.registers import ReadRegister, RegisterModel, SwapRegister, Value
from greenroom.testing.schedule_failure import ScheduleFailure
from greenroom.testing.schedules import (
    MalformedSchedule,
    Schedule,
    current_schedule,
    scenario_random,
)
from greenroom.testing.trio_scheduler import UnsupportedTrio

__all__ = [
    "CORE_POINTS",
    "ClockGate",
    "Deadlock",
    "Exploration",
    "Fault",
    "FaultKind",
    "FaultPlan",
    "History",
    "HistoryEntry",
    "HistoryError",
    "InjectedCrash",
    "Interruption",
    "Invocation",
    "Livelock",
    "MalformedSchedule",
    "Model",
    "NotLinearizable",
    "ReadRegister",
    "RegisterModel",
    "Run",
    "Schedule",
    "ScheduleFailure",
    "SearchLimit",
    "Seen",
    "Status",
    "Stuck",
    "SwapRegister",
    "UnsupportedTrio",
    "Value",
    "cancel_at_checkpoint",
    "cancel_at_every_checkpoint",
    "check_linearizable",
    "current_schedule",
    "explore",
    "note",
    "note_fault",
    "render_entries",
    "run_deterministic",
    "scenario_random",
]
