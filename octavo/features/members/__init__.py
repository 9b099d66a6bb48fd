"""Workspaces and their members: invitations, roles, registration."""
