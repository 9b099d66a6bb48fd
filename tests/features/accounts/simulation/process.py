"""One process with the use cases of identity, without sockets."""

from hashlib import sha256
from itertools import count
from random import Random

import trio

from octavo.features.accounts.passwords import Passwords
from octavo.features.legal.rules import LegalText, LegalTexts
from octavo.features.members.invitations import Invitations
from octavo.features.members.members import Members
from tests.fakes.identity_fixture import (
    CHEAP,
    START,
    IdentityFixture,
    PredictableSources,
    hash_inline,
)
from tests.fakes.oauth_rig import OAuthRig
from tests.simulation.bare_process import BareProcess
from tests.simulation.disk import Disk
from tests.simulation.weather import FaultSchedule

LEGAL = LegalTexts(terms=LegalText("2", "https://example.org/terms"))


class Sources(PredictableSources):
    """Time, identifiers and entropy of all processes of a run."""

    def __init__(self) -> None:
        super().__init__()
        self._entries = count(1)

    def now(self) -> float:
        return START + trio.current_time()

    def new_audit_id(self) -> str:
        return f"01900000-0000-7000-9000-{next(self._entries):012x}"

    def new_salt(self) -> bytes:
        return sha256(self.new_id().encode()).digest()


class IdentityProcess(BareProcess):
    """Serves the use cases of identity on a disk until it is stopped or killed.

    Attributes:
        identity: the use cases.
        invitations: those of invitations.
        members: those of members.
        oauth: the authorization server.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        *,
        sources: Sources,
        fresh: float,
    ) -> None:
        super().__init__(name, disk, faults, random)
        self.identity = IdentityFixture(
            self.store,
            LEGAL,
            sources=sources,
            # Room for everybody: a refusal for want of it would follow a counted attempt.
            passwords=Passwords(
                new_entropy=sources.new_salt, cost=CHEAP, run=hash_inline, waiting=1000
            ),
            fresh=fresh,
        )
        self.invitations = Invitations(
            self.store,
            self.identity.attempts,
            audit=self.identity.audit,
            now=sources.now,
            new_id=sources.new_id,
            new_token=sources.new_entropy,
        )
        self.members = Members(self.store, audit=self.identity.audit, now=sources.now)
        self.oauth = OAuthRig(self.identity)
