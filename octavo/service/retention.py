"""What the retention job removes, and after which time."""

from octavo.access.entropy import now
from octavo.actors.jobs.retention import RetentionJob
from octavo.features.accounts.rules.session import DAY, SessionLife
from octavo.features.accounts.sql import password_resets, portal_tokens
from octavo.features.accounts.sql.sessions import expire_sessions
from octavo.features.files import sql as oauth_programs
from octavo.features.history.rules.retention import Retention
from octavo.features.history.sql import restorations
from octavo.features.mail import sql as outbox
from octavo.features.members.sql import invitations
from octavo.features.oauth.sql import oauth_clients, oauth_grants
from octavo.features.publishing.sql import publications
from octavo.features.usage import sql as usage
from octavo.model.usage import month_before, month_of
from octavo.settings import Settings
from octavo.store import Script, Store
from octavo.store.queries import audit
from octavo.store.queries.expiry import expire_marks, expire_receipts

RECEIPT_DAYS = 31
"""Days that a receipt, or the result of a restoration, is kept; the API promises 30."""


MARK_DAYS = 400
"""Days that the marks of revisions are remembered which history pruning has removed."""


INVITATION_DAYS = 90
"""Days that an invitation is kept after it was used or revoked or has expired."""


LINK_DAYS = 90
"""Days that a published link is kept after it was revoked or has expired."""


UNUSED_PROGRAM_DAYS = 1
"""Days that a registered program is kept that nobody has allowed anything."""


ENDED_PROGRAM_DAYS = 30
"""Days that a program is kept, with its registration, after its last access has ended."""


USAGE_WRITER_DAYS = 2
"""Days after which a process that has counted nothing is forgotten; it may count again."""


def all_kept(settings: Settings) -> int:
    """Return the milliseconds for which every revision is kept."""
    return int(settings.history_all_days * DAY * 1000)


def retention_job(store: Store, settings: Settings, life: SessionLife) -> RetentionJob:
    """Return the job that prunes histories and removes what has expired."""
    retention = Retention(
        all_of=all_kept(settings),
        hourly=int(settings.history_hourly_days * DAY * 1000),
        least=settings.history_min_revisions,
    )

    audit_time = int(settings.audit_days * DAY * 1000)

    def end_sessions(now: int) -> Script[bool]:
        return expire_sessions(*life.alive_since(now))

    return RetentionJob(
        store,
        now=now,
        retention=retention,
        steps=(
            lambda now: expire_receipts(now - RECEIPT_DAYS * 86_400_000),
            lambda now: restorations.expire(now - RECEIPT_DAYS * 86_400_000),
            lambda now: expire_marks(now - MARK_DAYS * 86_400_000),
            end_sessions,
            lambda now: audit.expire(now - audit_time),
            lambda _: audit.expire_refusals(),
            lambda now: invitations.expire(now - INVITATION_DAYS * 86_400_000),
            lambda now: publications.expire(now - LINK_DAYS * 86_400_000),
            portal_tokens.expire,
            password_resets.expire,
            outbox.expire_budgets,
            oauth_grants.expire,
            lambda now: oauth_clients.expire(now - UNUSED_PROGRAM_DAYS * 86_400_000),
            oauth_programs.mark_ended,
            lambda now: oauth_programs.expire(now - ENDED_PROGRAM_DAYS * 86_400_000),
            lambda now: usage.expire(
                month_before(month_of(now / 1000)), now - USAGE_WRITER_DAYS * 86_400_000
            ),
        ),
    )
