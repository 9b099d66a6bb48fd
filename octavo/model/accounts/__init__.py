"""Accounts and credentials: addresses, passwords, sessions, keys, invitations."""
