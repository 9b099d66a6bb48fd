"""The parts of the service that manage workspaces: their members, invitations and registration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.access.entropy import new_entropy, new_id, now
from octavo.actors.jobs.housekeeping import removal
from octavo.features.members.api.invitations import InvitationOperations
from octavo.features.members.api.members import MemberOperations
from octavo.features.members.api.registrations import RegistrationOperations
from octavo.features.members.api.workspaces import WorkspaceOperations
from octavo.features.members.invitations import Invitations
from octavo.features.members.members import Members
from octavo.features.members.registration import Registration
from octavo.features.members.rules import Prerequisites
from octavo.features.members.settings import MembersSettings
from octavo.features.members.sql import invitations
from octavo.http.pages.menus import WORKSPACE, MenuEntry, members_with, signed_in
from octavo.kernel import Feature, Kernel, Parts

if TYPE_CHECKING:
    from octavo.features.accounts.feature import Accounts
    from octavo.features.legal.feature import Legal
    from octavo.http.pages.page_registry import PageRegistry

INVITATION_DAYS = 90
"""Days that an invitation is kept after it was used or revoked or has expired."""

FEATURE = Feature(
    "members",
    operations=[
        RegistrationOperations,
        WorkspaceOperations,
        MemberOperations,
        InvitationOperations,
    ],
    retention=lambda _: [removal(invitations.expire, INVITATION_DAYS)],
    menu=[
        MenuEntry("site", "Workspaces", "/workspaces", 10, signed_in),
        MenuEntry("workspace", "Members", f"{WORKSPACE}/members", 20),
        MenuEntry(
            "workspace", "Invitations", f"{WORKSPACE}/invitations", 30, members_with("manage")
        ),
        MenuEntry("workspace", "Settings", f"{WORKSPACE}/settings", 60),
        MenuEntry("notes", "Members and settings", f"{WORKSPACE}/members", 90),
    ],
)


@dataclass(frozen=True)
class Membership:
    """What other features use: the requirements of registration."""

    parts: Parts
    prerequisites: Prerequisites


def members_feature(
    kernel: Kernel, settings: MembersSettings, legal: Legal, accounts: Accounts
) -> Membership:
    """Return the feature; nothing runs yet."""
    store, audit, access = kernel.store, kernel.audit, kernel.access
    prerequisites = Prerequisites(
        settings.registration_policy,
        mail_transport=bool(settings.smtp_host),
        legal_documents=legal.documents.complete,
    )
    registration = Registration(
        store,
        accounts.passwords,
        kernel.attempts,
        accounts.maker,
        legal.documents,
        prerequisites,
        audit=audit,
        now=now,
        new_id=new_id,
    )
    invited = Invitations(
        store,
        kernel.attempts,
        audit=audit,
        now=now,
        new_id=new_id,
        new_token=new_entropy,
    )

    def pages(site: PageRegistry) -> None:
        from octavo.features.members.pages.members import add_member_pages, add_workspace_pages
        from octavo.features.members.pages.register import add_register_pages

        add_register_pages(site, registration.opens, registration.invited_into, legal.documents)
        add_workspace_pages(site)
        add_member_pages(site)

    origin = settings.public_url
    operations = [
        RegistrationOperations(
            registration, accounts.devices, life=accounts.life, origin=origin, legal=legal.documents
        ),
        WorkspaceOperations(
            store,
            access,
            now=now,
            new_id=new_id,
            gone=kernel.after.deleted,
            erased=kernel.after.erased,
        ),
        MemberOperations(Members(store, audit=audit, now=now), access),
        InvitationOperations(invited, access, now=now, public_url=origin),
    ]
    return Membership(Parts(operations=operations, pages=pages), prerequisites)
