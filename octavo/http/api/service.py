"""The tag ``service``: whether the process lives, and whether it takes work.

Liveness says that the process answers; it looks at nothing else, so that an ailing dependency
never gets the process restarted. Readiness says whether new work should be sent here: 503 while
a requirement of the start is not met, or while the process stops.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from pydantic_core import MISSING

from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.problems import NotReady


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that must be there before work can be taken, and whether it is.

    ``detail`` says in a sentence what it is about, or what is wrong and what to do.
    """

    name: str
    met: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the process takes new work, and what that hangs on."""

    requirements: tuple[Requirement, ...]
    stopping: bool

    @property
    def ready(self) -> bool:
        """True when every requirement is met and the process does not stop."""
        return not self.stopping and all(requirement.met for requirement in self.requirements)


class LivenessReport(ContractModel):
    """The process answers."""

    status: Literal["alive"]


class RequirementReport(ContractModel):
    """Something that must be there before work can be taken."""

    name: str
    """What is required; stable, for programs."""
    met: bool
    """Whether it is there."""
    detail: str | MISSING = MISSING
    """What that means, for people; left out of a summary."""


class ReadinessReport(ContractModel):
    """The process takes work."""

    status: Literal["ready"]
    requirements: tuple[RequirementReport, ...]


class DetailQuery(ContractModel):
    """How much of the readiness is told."""

    detail: Literal["summary", "full"] = "full"
    """``full`` says of each requirement what it means."""


_ALIVE = LivenessReport(status="alive")


class ServiceOperations:
    """Liveness and readiness.

    Args:
        readiness: asked at every request for the readiness.
    """

    def __init__(self, readiness: Callable[[], Awaitable[Readiness]]) -> None:
        self._readiness = readiness

    @operation(
        id="getHealth",
        method="GET",
        path="/api/health",
        tag="service",
        summary="Whether this process lives",
        security=Security.NONE,
    )
    @operation(
        id="getRootHealth",
        method="GET",
        path="/health",
        tag="service",
        summary="Whether this process lives",
        security=Security.NONE,
    )
    async def get_health(self, call: Call) -> LivenessReport:
        """Return that the process lives."""
        return _ALIVE

    @operation(
        id="getReadiness",
        method="GET",
        path="/api/ready",
        tag="service",
        summary="Whether this process takes work",
        security=Security.NONE,
        problems=(NotReady,),
    )
    @operation(
        id="getRootReadiness",
        method="GET",
        path="/ready",
        tag="service",
        summary="Whether this process takes work",
        security=Security.NONE,
        problems=(NotReady,),
    )
    async def get_readiness(self, call: Call, query: DetailQuery) -> ReadinessReport:
        """Return what the readiness hangs on; raise `NotReady` with the same when it lacks."""
        readiness = await self._readiness()
        full = query.detail == "full"
        requirements = tuple(
            RequirementReport(name=each.name, met=each.met, detail=each.detail)
            if full
            else RequirementReport(name=each.name, met=each.met)
            for each in readiness.requirements
        )
        if readiness.ready:
            return ReadinessReport(status="ready", requirements=requirements)
        raise NotReady(
            "The process is stopping and takes no new work."
            if readiness.stopping
            else "Not every requirement is met: see requirements.",
            members={"requirements": [each.model_dump() for each in requirements]},
        )
