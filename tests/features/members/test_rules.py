"""Whether the creator of an invitation may still grant it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.accounts.rules.decisions import Decisions
from octavo.features.members.rules import Invitation, InvitationId
from octavo.model import workspace
from octavo.model.access.account import ROLES, Address
from tests.features.accounts.rules.test_decisions import decisions

ANN = AccountId("ann")
workspace_roles = st.sampled_from(workspace.ROLES)


@st.composite
def invitations(draw: st.DrawFn) -> Invitation:
    made = Invitation(InvitationId("1"), None, draw(st.sampled_from(ROLES)), 0, 1, created_by=ANN)
    if draw(st.booleans()):
        role = draw(workspace_roles)
        made = replace(made, workspace_id=WorkspaceId("w"), workspace_role=role)
    return made


@given(invitations(), st.booleans())
def test_address_is_proven_by_those_who_administer_the_installation(
    invitation: Invitation, by_command: bool
) -> None:
    assert not invitation.proves_address
    named = replace(invitation, address=Address("ann@example.org"))
    if by_command:
        named = replace(named, created_by=None)
    owner_may_grant = named.workspace_id is not None and named.role == "member"
    assert named.proves_address == (by_command or not owner_may_grant)


@given(invitations(), st.none() | decisions, st.none() | workspace_roles)
def test_what_a_command_grants_holds(
    invitation: Invitation, creator: Decisions | None, role: workspace.Role | None
) -> None:
    assert replace(invitation, created_by=None).is_granted_by(creator, role)


@given(invitations(), st.none() | workspace_roles)
def test_a_removed_account_grants_nothing(
    invitation: Invitation, role: workspace.Role | None
) -> None:
    assert not invitation.is_granted_by(None, role)


@given(invitations(), decisions, st.none() | workspace_roles)
def test_a_creator_grants_what_it_could_grant_now(
    invitation: Invitation, creator: Decisions, role: workspace.Role | None
) -> None:
    granted = invitation.is_granted_by(creator, role)
    if creator.effective_state != "enabled":
        assert not granted
        return
    if invitation.workspace_id is None or invitation.role == "administrator":
        installation = creator.role == "administrator"
    else:
        installation = True
    into_workspace = invitation.workspace_id is None or (
        role == "owner" or (role == "administrator" and invitation.workspace_role != "owner")
    )
    assert granted == (installation and into_workspace)
