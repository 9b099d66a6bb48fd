"""The front of the service: every operation, page and stream, wired to the parts behind them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import cast

import trio

from octavo.accounts.own_account import OwnAccount
from octavo.accounts.own_keys import OwnKeys
from octavo.accounts.own_sessions import OwnSessions
from octavo.accounts.passwords import Passwords
from octavo.accounts.registration import Registration
from octavo.accounts.sign_in import SessionMaker, SigningIn
from octavo.actors.notices import NoticeHub
from octavo.http.application import Application
from octavo.http.attempt_limit import AttemptLimiter
from octavo.http.authentication import SessionOrKey
from octavo.http.earlier_texts import EarlierTexts
from octavo.http.identity_problems import refusals_as_problems
from octavo.http.memory_budget import MemoryBudget
from octavo.http.notices import PATH as NOTICES
from octavo.http.notices import Listening, NoticeOperations, NoticeSocket
from octavo.http.operation import Security
from octavo.http.operations.account import AccountOperations
from octavo.http.operations.auth import AuthOperations
from octavo.http.operations.changesets import ChangesetOperations
from octavo.http.operations.contract import ContractOperations
from octavo.http.operations.files import FileOperations
from octavo.http.operations.history import HistoryOperations
from octavo.http.operations.keys import KeyOperations
from octavo.http.operations.links import LinkOperations
from octavo.http.operations.reading import ReadingOperations
from octavo.http.operations.registrations import RegistrationOperations
from octavo.http.operations.saves import SaveOperations
from octavo.http.operations.search import SearchOperations
from octavo.http.operations.service import Readiness, ServiceOperations
from octavo.http.operations.sessions import SessionOperations
from octavo.http.operations.sync import SyncOperations
from octavo.http.operations.workspaces import WorkspaceOperations
from octavo.http.pages import API_REFERENCE, pages
from octavo.http.pages.register import Registering
from octavo.http.problems import Header
from octavo.http.pushing import Pushing
from octavo.http.request_log import RequestLog
from octavo.http.served import contract_document, explained_problems
from octavo.http.wire.asgi import Application as ASGIApplication
from octavo.model.identity import WorkspaceId
from octavo.service.chance import new_entropy, new_id, now
from octavo.service.parts import Parts
from octavo.ws import Connection, Frame, serve_websocket
from octavo.ws.notices import MAX_MESSAGE, SUBPROTOCOL, NoticeStream

CLOSE_SECONDS = 5.0
PING_SECONDS = 30.0
CHECK_SECONDS = 10.0
"""How often a stream looks whether it may go on, beside what this process tells it at once."""


def front(
    parts: Parts,
    *,
    public_url: str,
    readiness: Callable[[], Awaitable[Readiness]],
    log_request: RequestLog,
    memory: MemoryBudget | None = None,
) -> Application:
    """Answer the application that serves everything, under the address ``public_url``.

    ``memory`` counts large requests and answers; None is one of the default size.
    """
    store = parts.store
    authenticator = SessionOrKey(parts.credentials, origin=public_url)
    described = contract_document()
    registrations, identity = _identity(parts, public_url)

    async def register(
        form: Mapping[str, str], headers: Sequence[Header], client: str | None
    ) -> Header:
        with refusals_as_problems():
            parts.attempts.admit_client("registration", client)
        return await registrations.register_by_form(form, headers, client)

    def gone(workspace_id: WorkspaceId) -> None:
        parts.access.forget(workspace_id)
        parts.hub.announce_gone(workspace_id)
        parts.sweeper.wake()

    pushing = Pushing(parts.workspaces, parts.access, new_id)
    stream = NoticeSocket(
        authenticator,
        store,
        subprotocol=SUBPROTOCOL,
        serve=partial(_serve_stream, parts.hub),
        new_id=new_id,
        log_request=log_request,
        public_url=public_url,
    )
    return Application(
        [
            ServiceOperations(readiness),
            ContractOperations(described),
            *identity,
            WorkspaceOperations(store, parts.access, now=now, new_id=new_id, gone=gone),
            FileOperations(pushing, EarlierTexts(store, pushing.access)),
            SaveOperations(pushing),
            ChangesetOperations(pushing, store),
            ReadingOperations(pushing, store),
            HistoryOperations(store, parts.access),
            LinkOperations(store, parts.access),
            SearchOperations(store, parts.access),
            SyncOperations(store, parts.access, authenticator),
            NoticeOperations(),
        ],
        new_id=new_id,
        log_request=log_request,
        authenticators={Security.SESSION_OR_KEY: authenticator},
        rate_limiter=AttemptLimiter(parts.attempts),
        memory=memory,
        websockets={NOTICES: stream},
        # Quart has types of its own for ASGI.
        fallback=cast(
            ASGIApplication,
            pages(
                api_document=ContractOperations.PATH,
                contract=described,
                problems=explained_problems(),
                public_url=public_url,
                registering=Registering(registrations.opens, register),
            ),
        ),
        fallback_below_api=(API_REFERENCE,),
        public_url=public_url,
    )


def _identity(parts: Parts, origin: str) -> tuple[RegistrationOperations, list[object]]:
    store, life, credentials = parts.store, parts.life, parts.credentials
    passwords = Passwords(new_entropy=new_entropy)
    maker = SessionMaker(now=now, new_id=new_id, new_entropy=new_entropy)
    signing_in = SigningIn(store, credentials, passwords, parts.attempts, maker, now=now, life=life)
    registration = Registration(store, passwords, parts.attempts, maker, now=now, new_id=new_id)
    own_keys = OwnKeys(store, credentials, now=now, new_id=new_id, new_entropy=new_entropy)
    own_sessions = OwnSessions(store, credentials, now=now, life=life)
    registrations = RegistrationOperations(registration, now=now, life=life, origin=origin)
    return registrations, [
        AuthOperations(signing_in, life=life, origin=origin),
        registrations,
        AccountOperations(OwnAccount(store), now=now),
        SessionOperations(own_sessions, life=life),
        KeyOperations(own_keys, now=now),
    ]


async def _serve_stream(
    hub: NoticeHub[Frame],
    stream: trio.abc.HalfCloseableStream,
    listening: Listening,
    *,
    stopping: trio.Event,
    request_id: str,
) -> None:
    async def serve(connection: Connection) -> None:
        await NoticeStream(
            connection,
            hub,
            account_id=listening.caller.account_id,
            standings=listening.standings,
            still_valid=listening.still_valid,
            check_every=CHECK_SECONDS,
        ).run()

    await serve_websocket(
        stream,
        serve,
        subprotocol=SUBPROTOCOL,
        stopping=stopping,
        max_message_size=MAX_MESSAGE,
        close_time=CLOSE_SECONDS,
        ping_interval=PING_SECONDS,
        headers=[(b"x-request-id", request_id.encode())],
    )
