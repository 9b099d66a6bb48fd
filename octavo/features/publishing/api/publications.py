"""Publish notes and folders by links, for readers without an account."""

from functools import partial
from typing import Annotated, Literal
from urllib.parse import quote

from octavo_rules.identity import FileId
from octavo_rules.problems import InvalidRequest, NotFound
from pydantic import Discriminator, Field

from octavo.access.attempts import GRANTS
from octavo.access.ports import Clock, milliseconds
from octavo.access.workspaces import Access
from octavo.features.accounts.rules.password import LONGEST as LONGEST_PASSWORD
from octavo.features.publishing import rules
from octavo.features.publishing.links import PublishedLinks
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import FolderPath, WorkspacePath
from octavo.model.files.path import parse_folder
from octavo.model.label import parse_label
from octavo.model.refusal import InvalidPath

_LONGEST_BODY = 16_384
_LinkPassword = Annotated[
    str,
    Field(json_schema_extra={"minLength": rules.SHORTEST_PASSWORD, "maxLength": LONGEST_PASSWORD}),
]


class NoteTargetInput(contract.Model):
    """One note, wherever it moves."""

    kind: Literal["note"]
    file_id: contract.Identifier


class FolderTargetInput(contract.Model):
    """A folder with every note below it."""

    kind: Literal["folder"]
    path: FolderPath
    """Its path; empty for the whole workspace."""


TargetInput = Annotated[NoteTargetInput | FolderTargetInput, Discriminator("kind")]


class CreatePublishedLinkInput(contract.Model):
    """A new link: what it opens, and how a reader reaches it."""

    target: TargetInput
    expires_at: contract.GivenTime | None = None
    """When it ends; null for never."""
    password: _LinkPassword | None = Field(default=None, repr=False)
    """Readers have to give it; null for none."""
    label: Annotated[str, Field(json_schema_extra={"maxLength": rules.LONGEST_LABEL})] | None = None
    """Shown to readers above the title, such as a name; null for none."""
    openings: Annotated[int, Field(ge=1, le=rules.MAX_OPENINGS), contract.WHOLE] | None = None
    """How often readers can open it; null for any number."""


class PublishedTarget(contract.Model):
    """What a link opens."""

    kind: rules.TargetKind
    file_id: contract.Identifier | None
    """The note; null for a folder."""
    path: str
    """The present path of the folder or of the note; empty for the whole workspace, and for a note
    that was purged.
    """


class PublishedLinkSchema(contract.Model):
    """A link, without its token."""

    id: contract.Identifier
    target: PublishedTarget
    label: str | None
    expires_at: contract.Timestamp | None
    has_password: bool
    openings: int | None
    """How often readers can open it; null for any number. How often they did is not shown."""
    state: rules.LinkState
    """A link is `taken_down` by an administrator of the installation, for good."""
    obstacle: rules.Obstacle | None
    """Why a live link opens nothing at present: `no_note` if its note was deleted or its folder has
    none, `creator` if the account that created it may not publish; null otherwise.
    """
    created_at: contract.Timestamp
    created_by: contract.Identifier | None
    """Null when the account was removed."""


class PublishedLinkCreated(PublishedLinkSchema):
    """A new link."""

    token: str = Field(repr=False)
    """It cannot be read again."""
    address: str = Field(repr=False)
    """The address for readers."""


class PublishedLinkList(contract.ListPage[PublishedLinkSchema]):
    """A page of links, newest first."""


class PublicationPath(WorkspacePath):
    """One link."""

    publication_id: Annotated[rules.PublicationId, contract.IN_PATH]


class PublicationOperations:
    """Published links of workspaces.

    Args:
        links: the use case.
        access: checks the caller.
        now: the clock, in seconds of Unix time.
        public_url: the address that links begin with.
    """

    def __init__(
        self, links: PublishedLinks, access: Access, *, now: Clock, public_url: str
    ) -> None:
        self._links = links
        self._access = access
        self._now = now
        self._public_url = public_url

    @contract.operation(
        id="createPublishedLink",
        method="POST",
        path="/api/workspaces/{workspaceId}/publications",
        tag="publishing",
        summary="Publish a note, or a folder with every note below it",
        description="Requires the owner, or an administrator of the workspace. Only this response "
        "contains the token and the address. Readers see the present text of the notes, and the "
        "images that these show; other files of a folder stay closed. The link of a note follows "
        "it when it moves; that of a folder when one changeset moves every file below it to a "
        "folder that has no others. A workspace may have 200 live links, unless the settings of "
        "the installation say otherwise.",
        status=201,
        problems=(NotFound, rules.TooManyLinks, InvalidPath),
        body=contract.json_body(CreatePublishedLinkInput, limit=_LONGEST_BODY),
        rate=GRANTS,
    )
    async def create_published_link(
        self, call: contract.Call, path: WorkspacePath, body: CreatePublishedLinkInput
    ) -> PublishedLinkCreated:
        """Create a link."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "manage")
        label, expires_at = self._checked(body)
        link, token = await self._links.create(
            workspace_id,
            _target(body.target),
            actor=caller.account_id,
            remote_address=call.remote_address,
            label=label,
            password=body.password,
            openings=body.openings,
            expires_at=expires_at,
        )
        address = f"{self._public_url}/published/{quote(token, safe='')}"
        schema = self._schema(rules.ListedLink(link, None))
        return PublishedLinkCreated(**dict(schema), token=token, address=address)

    @contract.operation(
        id="listPublishedLinks",
        method="GET",
        path="/api/workspaces/{workspaceId}/publications",
        tag="publishing",
        summary="List the links of a workspace",
        description="Requires the owner, or an administrator of the workspace.",
        problems=(NotFound,),
    )
    async def list_published_links(
        self, call: contract.Call, path: WorkspacePath, query: contract.PageQuery
    ) -> PublishedLinkList:
        """Return a page of links."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "manage")
        page, following = await contract.page_by_id(
            query,
            partial(self._links.list, workspace_id),
            lambda listed: listed.link.publication_id,
        )
        return PublishedLinkList(
            items=tuple(self._schema(listed) for listed in page), next=following
        )

    @contract.operation(
        id="revokePublishedLink",
        method="DELETE",
        path="/api/workspaces/{workspaceId}/publications/{publicationId}",
        tag="publishing",
        summary="Revoke a link",
        description="Requires the owner, or an administrator of the workspace. The link opens "
        "nothing from the next request of a reader on.",
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def revoke_published_link(
        self, call: contract.Call, path: PublicationPath
    ) -> contract.Removed:
        """Revoke a link."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "manage")
        await self._links.revoke(
            workspace_id,
            path.publication_id,
            actor=caller_of(call).account_id,
            remote_address=call.remote_address,
        )
        return contract.REMOVED

    def _checked(self, body: CreatePublishedLinkInput) -> tuple[str | None, int | None]:
        """Return the validated label and expiry. Raises `InvalidRequest`."""
        errors: list[tuple[str, str]] = []
        label: str | None = None
        if body.label is not None:
            try:
                label = parse_label(body.label, rules.LONGEST_LABEL)
            except ValueError as error:
                errors.append(("/label", str(error)))
        if body.password is not None and (fault := rules.password_fault(body.password)):
            errors.append(("/password", fault))
        expires = None if body.expires_at is None else contract.milliseconds_of(body.expires_at)
        if expires is not None and expires <= milliseconds(self._now()):
            errors.append(("/expiresAt", "Give a time in the future, or omit it."))
        if errors:
            raise InvalidRequest(errors=errors)
        return label, expires

    def _schema(self, listed: rules.ListedLink) -> PublishedLinkSchema:
        link, obstacle = listed
        target = link.target
        state = link.state_at(milliseconds(self._now()))
        return PublishedLinkSchema(
            id=link.publication_id,
            target=PublishedTarget(kind=target.kind, file_id=target.file_id, path=target.path),
            label=link.label,
            expires_at=None if link.expires_at is None else contract.timestamp(link.expires_at),
            has_password=link.password is not None,
            openings=link.openings,
            state=state,
            obstacle=obstacle if state == "live" else None,
            created_at=contract.timestamp(link.created_at),
            created_by=link.created_by,
        )


def _target(target: NoteTargetInput | FolderTargetInput) -> rules.LinkTarget:
    if isinstance(target, NoteTargetInput):
        return rules.LinkTarget("note", FileId(target.file_id), "")
    return rules.LinkTarget("folder", None, parse_folder(target.path))
