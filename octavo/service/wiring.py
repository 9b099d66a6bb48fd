"""The wiring of the service: passes each operation, page and stream the components it needs."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple, cast

import trio
from antechamber.asgi import Application as ASGIApplication

from octavo.access.entropy import elapsed, jitter, new_entropy, new_id, now
from octavo.access.ports import milliseconds
from octavo.features.accounts.api.account import AccountOperations
from octavo.features.accounts.api.auth import AuthOperations
from octavo.features.accounts.api.authentication import AttemptLimiter, OperatorTokens, SessionOrKey
from octavo.features.accounts.api.keys import KeyOperations
from octavo.features.accounts.api.password_reset import PasswordResetOperations
from octavo.features.accounts.api.sessions import SessionOperations
from octavo.features.accounts.known_devices import KnownDevices
from octavo.features.accounts.own_account import OwnAccount, OwnConsent, OwnPassword
from octavo.features.accounts.own_credentials import OwnKeys, OwnSessions
from octavo.features.accounts.password_reset import PasswordReset
from octavo.features.accounts.portal import Portal
from octavo.features.accounts.sign_in import SessionMaker, SignIn
from octavo.features.administration.api.administration import AdministrationOperations
from octavo.features.administration.api.audit import AuditOperations
from octavo.features.administration.api.installation import InstallationOperations
from octavo.features.administration.api.operator import OperatorOperations
from octavo.features.archives.api.exports import ExportOperations
from octavo.features.archives.api.imports import ImportOperations
from octavo.features.files.api.attachments import AttachmentOperations, UploadedImages
from octavo.features.files.api.changeset_submission import ChangesetSubmitter
from octavo.features.files.api.changesets import ChangesetOperations
from octavo.features.files.api.contents import ContentOperations
from octavo.features.files.api.files import FileOperations
from octavo.features.files.api.note_texts import RevisionTexts
from octavo.features.files.api.reading import ReadingOperations
from octavo.features.files.api.saves import SaveOperations
from octavo.features.history.api.client_changes import ClientChangeOperations
from octavo.features.history.api.history import HistoryOperations
from octavo.features.history.api.restorations import RestorationOperations
from octavo.features.legal.api import LegalDocumentPage, LegalOperations
from octavo.features.legal.feature import Legal
from octavo.features.legal.rules import DocumentName, LegalDocuments
from octavo.features.links.api import LinkOperations
from octavo.features.mcp.api.access_tokens import AccessTokens
from octavo.features.mcp.api.mcp import OFF, Exchange, McpOperations, OwnOriginOnly
from octavo.features.members.api.invitations import InvitationOperations
from octavo.features.members.api.members import MemberOperations
from octavo.features.members.api.registrations import RegistrationOperations
from octavo.features.members.api.workspaces import WorkspaceOperations
from octavo.features.members.invitations import Invitations
from octavo.features.members.members import Members
from octavo.features.members.registration import Installation, Registration
from octavo.features.notes.member_notes import MemberNotes
from octavo.features.oauth.api.connections import ConnectionOperations
from octavo.features.oauth.api.oauth import OAuthOperations
from octavo.features.publishing.api.link_reports import LinkReportOperations
from octavo.features.publishing.api.publications import PublicationOperations
from octavo.features.publishing.api.published import PublishedOperations
from octavo.features.publishing.api.reader_problems import reader_problems
from octavo.features.search.api import SearchOperations
from octavo.features.sync.api import SyncOperations
from octavo.features.sync.notices import PATH as NOTICES
from octavo.features.sync.notices import NoticeOperations, NoticeSocket
from octavo.features.usage.api import Metering
from octavo.http.contract.application import Application
from octavo.http.contract.in_process import Perform, PerformAs
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.operation import Security
from octavo.http.contract.request_log import RequestLog
from octavo.http.lazy import LazyApplication, LazyValue
from octavo.http.pages import API_REFERENCE
from octavo.http.refusals import problem_of
from octavo.http.refused_attempts import counting_refusals
from octavo.model.usage import InstallationUsage
from octavo.service import pages
from octavo.service.account_services import (
    administration_of,
    announce_members,
    removal_of,
    workspace_gone,
)
from octavo.service.components import Components
from octavo.service.contract_document import ContractOperations
from octavo.service.health import Readiness, ServiceOperations
from octavo.service.registry import contract_document, explained_problems
from octavo.store.fair_turns import working_for
from octavo.store.queries.signing_keys import only_secret
from octavo.ws.notice_stream import SUBPROTOCOL


class _Identity(NamedTuple):
    """The operations on accounts, and the use cases that the pages need besides them."""

    registration: Registration
    password_reset: PasswordReset
    groups: list[object]


def wire_application(
    parts: Components,
    *,
    public_url: str,
    readiness: Callable[[], Awaitable[Readiness]],
    log_request: RequestLog,
    memory: MemoryBudget | None = None,
    started: trio.Event | None = None,
) -> Application:
    """Return the application that serves every operation and page under ``public_url``.

    ``memory`` limits the memory of large requests and responses; None means the default limit.
    The pages are loaded when ``started`` is set, or with the lifespan if it is None.
    """
    store, audit = parts.store, parts.audit
    log_request = counting_refusals(log_request, audit.refused)
    legal = parts.legal.documents
    authenticator = SessionOrKey(parts.credentials, origin=public_url, legal=legal)
    contract = LazyValue(contract_document)

    gone = partial(workspace_gone, parts)
    member_changed = announce_members(parts)
    invitations = Invitations(
        store,
        parts.attempts,
        audit=audit,
        now=now,
        new_id=new_id,
        new_token=new_entropy,
        changed=member_changed,
    )
    members = Members(store, audit=audit, now=now, changed=member_changed)

    identity = _identity(parts, public_url)

    legal_pages = LazyValue(partial(_legal_pages, parts.legal, public_url))

    async def form_secret() -> bytes:
        return await store.write(only_secret("form", new_entropy(), milliseconds(now())))

    async def load_pages() -> ASGIApplication:
        make = partial(
            _pages,
            await contract.get(),
            public_url,
            legal,
            identity,
            application.perform,
            sends_mail=parts.prerequisites.mail_transport,
            mcp=parts.authorization is not None,
            portal=parts.portal,
            usage=parts.meter.installation_usage,
            notes=parts.publishing.member_notes,
            form_secret=form_secret,
            session_seconds=parts.life.absolute,
        )
        return await trio.to_thread.run_sync(make, abandon_on_cancel=True)

    async def exchange() -> Exchange:
        return mcp.made or await mcp.get()

    mcp = LazyValue(lambda: _mcp_exchange(application.perform, public_url, writes=parts.mcp_write))
    submitter = ChangesetSubmitter(parts.workspaces, parts.access, new_id)
    attachments = parts.attachments
    texts = RevisionTexts(store, submitter.access)
    metering = Metering(parts.meter)
    images = UploadedImages(store, submitter.access, now)
    stream = NoticeSocket(
        authenticator,
        store,
        subprotocol=SUBPROTOCOL,
        serve=parts.streams.serve,
        new_id=new_id,
        log_request=log_request,
        public_url=public_url,
    )
    served_to_programs: list[object] = []
    absent: dict[type, str] = {}
    if parts.authorization is None:
        absent = dict.fromkeys([OAuthOperations, ConnectionOperations, McpOperations], OFF)
    else:
        served_to_programs = [
            OAuthOperations(parts.authorization, public_url=public_url),
            ConnectionOperations(parts.authorization, store),
            McpOperations(exchange),
        ]
    application = Application(
        [
            ServiceOperations(readiness),
            ContractOperations(contract.get),
            *identity.groups,
            WorkspaceOperations(
                store,
                parts.access,
                now=now,
                new_id=new_id,
                gone=gone,
                erased=parts.sweeper.wake,
            ),
            MemberOperations(members, parts.access),
            InvitationOperations(invitations, parts.access, now=now, public_url=public_url),
            FileOperations(submitter, texts),
            SaveOperations(submitter, metering, store),
            ChangesetOperations(submitter, store, images),
            ReadingOperations(submitter, store, metering, parts.texts),
            HistoryOperations(store, parts.access, metering),
            ClientChangeOperations(submitter, parts.undo, store),
            RestorationOperations(parts.restorations, parts.access, new_id),
            LinkOperations(store, parts.access),
            SearchOperations(store, parts.access, metering, parts.searched),
            SyncOperations(store, parts.access, authenticator, metering),
            AttachmentOperations(submitter, attachments.uploads, images, texts),
            ContentOperations(
                store, attachments.blobs, attachments.thumbnails, parts.access, metering
            ),
            ImportOperations(parts.archives.imports, parts.access),
            ExportOperations(
                parts.archives.exports, parts.access, authenticator, metering, now=now, legal=legal
            ),
            NoticeOperations(),
            LegalOperations(legal_pages.get),
            PublicationOperations(
                parts.publishing.links, parts.access, now=now, public_url=public_url
            ),
            PublishedOperations(
                parts.publishing.reading,
                parts.publishing.reports,
                parts.publishing.pages.get,
                attachments.blobs,
                parts.meter,
            ),
            LinkReportOperations(parts.publishing.reports, public_url=public_url),
            *served_to_programs,
        ],
        absent=absent,
        new_id=new_id,
        log_request=log_request,
        authenticators={
            Security.SESSION_OR_KEY: authenticator,
            Security.OPERATOR: OperatorTokens(parts.operator_tokens, audit.refused),
            Security.MCP: OwnOriginOnly(
                AccessTokens(parts.credentials, public_url=public_url, writes=parts.mcp_write),
                origin=public_url,
            ),
        },
        rate_limiter=AttemptLimiter(parts.attempts),
        failure_problem=problem_of,
        serving=working_for.set,
        problem_html=reader_problems(lambda: parts.publishing.pages.made),
        memory=memory,
        websockets={NOTICES: stream},
        fallback=LazyApplication(load_pages, started),
        fallback_below_api=(API_REFERENCE,),
        public_url=public_url,
        elapsed=elapsed,
    )
    return application


def _mcp_exchange(perform: PerformAs, public_url: str, *, writes: bool) -> Exchange:
    # Loads the models of the protocol, which take longer than all other operations.
    from octavo.features.mcp.api.mcp_exchange import mcp_exchange  # noqa: PLC0415

    return mcp_exchange(perform, public_url=public_url, writes=writes)


def _pages(
    contract: Mapping[str, object],
    public_url: str,
    legal: LegalDocuments,
    identity: _Identity,
    perform: Perform,
    *,
    sends_mail: bool,
    mcp: bool,
    portal: Mapping[str, str],
    usage: Callable[[], Awaitable[InstallationUsage]],
    notes: MemberNotes,
    form_secret: Callable[[], Awaitable[bytes]],
    session_seconds: float,
) -> ASGIApplication:
    from octavo.http.pages.form_stamps import FormStamps  # noqa: PLC0415 - loads with the pages

    application = pages.pages(
        api_document=ContractOperations.PATH,
        contract=contract,
        problems=explained_problems(),
        public_url=public_url,
        opens=identity.registration.opens,
        invited_into=identity.registration.invited_into,
        reset_opens=identity.password_reset.opens,
        legal=legal,
        sends_mail=sends_mail,
        mcp=mcp,
        portal=portal,
        usage=usage,
        perform=perform,
        notes=notes,
        now=now,
        new_entropy=new_entropy,
        stamps=FormStamps(form_secret, now=now, session_seconds=session_seconds),
    )
    # Quart has its own types for ASGI.
    return cast(ASGIApplication, application)


def _legal_pages(legal: Legal, public_url: str) -> Mapping[DocumentName, LegalDocumentPage]:
    if not legal.html:
        return {}
    from octavo.features.legal.document_pages import legal_pages  # noqa: PLC0415 - loads the template engine

    return legal_pages(legal.html, legal.documents, public_url)


def _identity(parts: Components, origin: str) -> _Identity:
    store, life, credentials, audit = parts.store, parts.life, parts.credentials, parts.audit
    legal, prerequisites, attempts = parts.legal.documents, parts.prerequisites, parts.attempts
    passwords = parts.passwords
    maker = SessionMaker(now=now, new_id=new_id, new_entropy=new_entropy)
    signing_in = SignIn(
        store, credentials, passwords, attempts, maker, audit=audit, now=now, life=life
    )
    devices = KnownDevices(store, now=now, new_entropy=new_entropy)
    registration = Registration(
        store,
        passwords,
        attempts,
        maker,
        legal,
        prerequisites,
        audit=audit,
        now=now,
        new_id=new_id,
    )
    own_keys = OwnKeys(
        store, credentials, attempts, audit=audit, now=now, new_id=new_id, new_entropy=new_entropy
    )
    own_password = OwnPassword(
        store,
        credentials,
        passwords,
        attempts,
        audit=audit,
        now=now,
        new_id=new_id,
        mail_added=parts.mail.wake,
    )
    password_reset = PasswordReset(
        store,
        credentials,
        passwords,
        attempts,
        audit=audit,
        now=now,
        new_id=new_id,
        random=jitter,
        mail_added=parts.mail.wake,
    )
    own_sessions = OwnSessions(store, credentials, audit=audit, now=now, life=life)
    removal = removal_of(parts)
    administration = administration_of(parts)
    own_consent = OwnConsent(store, credentials, legal, audit=audit, now=now)
    portal = Portal(store, parts.portal, now=now, new_token=new_entropy)
    groups = [
        AuthOperations(signing_in, devices, own_password, life=life, origin=origin, legal=legal),
        PasswordResetOperations(password_reset, origin=origin),
        RegistrationOperations(registration, devices, life=life, origin=origin, legal=legal),
        AccountOperations(OwnAccount(store, now=now), removal, devices, own_consent, portal, legal),
        SessionOperations(own_sessions, life=life),
        KeyOperations(own_keys, now=now),
        AdministrationOperations(administration, removal),
        AuditOperations(audit),
        InstallationOperations(Installation(store, prerequisites, audit=audit)),
        OperatorOperations(administration, removal, portal),
    ]
    return _Identity(registration, password_reset, groups)
