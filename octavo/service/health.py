"""The tag ``service``: liveness and readiness of the process.

Liveness reports only that the process responds, so that a failing dependency never causes a
restart. Readiness reports whether new work should be sent here: 503 while a startup requirement is
not met, or while the process stops.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from octavo_rules.problems import NotReady
from pydantic_core import MISSING

from octavo.http import contract


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition for accepting work, and whether it is met.

    ``detail`` is a sentence about it, or about the fault and its remedy. Without an ``optional``
    one, the process accepts work, of which some fails.
    """

    name: str
    met: bool
    detail: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the process accepts new work, and its requirements."""

    requirements: tuple[Requirement, ...]
    stopping: bool

    @property
    def ready(self) -> bool:
        """True when each requirement is met or optional, and the process is not stopping."""
        return not self.stopping and all(
            requirement.met or requirement.optional for requirement in self.requirements
        )


class LivenessReport(contract.Model):
    """The process responds."""

    status: Literal["alive"]


class RequirementReport(contract.Model):
    """A condition for accepting work."""

    name: str
    """The name of the requirement; stable, for programs."""
    met: bool
    """Whether it is met."""
    optional: Literal[True] | MISSING = MISSING
    """Whether the process accepts work without it; omitted if it does not."""
    detail: str | MISSING = MISSING
    """An explanation for people; omitted in a summary."""


class ReadinessReport(contract.Model):
    """The process accepts work."""

    status: Literal["ready"]
    requirements: tuple[RequirementReport, ...]


class DetailQuery(contract.Model):
    """How much of the readiness is reported."""

    detail: Literal["summary", "full"] = "full"
    """``full`` includes an explanation of each requirement."""


_ALIVE = LivenessReport(status="alive")


class ServiceOperations:
    """Liveness and readiness.

    Args:
        readiness: returns the current readiness; called for each request.
    """

    def __init__(self, readiness: Callable[[], Awaitable[Readiness]]) -> None:
        self._readiness = readiness

    @contract.operation(
        id="getHealth",
        method="GET",
        path="/api/health",
        tag="service",
        summary="Check whether this process is alive",
        security=contract.Security.NONE,
    )
    @contract.operation(
        id="getRootHealth",
        method="GET",
        path="/health",
        tag="service",
        summary="Check whether this process is alive",
        security=contract.Security.NONE,
    )
    async def get_health(self, call: contract.Call) -> LivenessReport:
        """Return a liveness report."""
        return _ALIVE

    @contract.operation(
        id="getReadiness",
        method="GET",
        path="/api/ready",
        tag="service",
        summary="Check whether this process accepts work",
        security=contract.Security.NONE,
        problems=(NotReady,),
    )
    @contract.operation(
        id="getRootReadiness",
        method="GET",
        path="/ready",
        tag="service",
        summary="Check whether this process accepts work",
        security=contract.Security.NONE,
        problems=(NotReady,),
    )
    async def get_readiness(self, call: contract.Call, query: DetailQuery) -> ReadinessReport:
        """Return the requirements; raise `NotReady` with them when one is not met."""
        readiness = await self._readiness()
        full = query.detail == "full"
        requirements = tuple(
            RequirementReport(
                name=requirement.name,
                met=requirement.met,
                optional=True if requirement.optional else MISSING,
                detail=requirement.detail if full else MISSING,
            )
            for requirement in readiness.requirements
        )
        if readiness.ready:
            return ReadinessReport(status="ready", requirements=requirements)
        raise NotReady(
            "The process is stopping: send it no new work."
            if readiness.stopping
            else "Not every requirement is met: see requirements.",
            members={"requirements": [requirement.model_dump() for requirement in requirements]},
        )
