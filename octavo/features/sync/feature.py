"""The parts of the service that keep devices in step: the feed and the stream of notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.access.entropy import new_id
from octavo.features.sync.api import SyncOperations
from octavo.features.sync.notices import PATH, NoticeOperations, NoticeSocket, NoticeStreams
from octavo.features.sync.sql import record_purges
from octavo.kernel import Feature, Kernel, Parts, worker
from octavo.store.queries.sweeping import rows_of
from octavo.store.transaction import Listeners
from octavo.ws.notice_stream import SUBPROTOCOL

if TYPE_CHECKING:
    from octavo.features.accounts.feature import Accounts
    from octavo.features.usage.feature import Usage

FEATURE = Feature(
    "sync",
    operations=[SyncOperations, NoticeOperations],
    listeners=Listeners(
        files_purged=[record_purges], workspace_sweeping=[rows_of("folder_purges", "file")]
    ),
)


def sync_feature(kernel: Kernel, usage: Usage, accounts: Accounts) -> Parts:
    """Return the feature; nothing runs yet."""
    streams = NoticeStreams(kernel.hub)
    socket = NoticeSocket(
        accounts.authenticator,
        kernel.store,
        subprotocol=SUBPROTOCOL,
        serve=streams.serve,
        new_id=new_id,
        log_request=kernel.log_request,
        public_url=kernel.settings.public_url,
    )
    feed = SyncOperations(kernel.store, kernel.access, accounts.authenticator, usage.metering)
    return Parts(
        operations=[feed, NoticeOperations()],
        websockets={PATH: socket},
        workers=[worker("notices", streams.run)],
    )
