"""Use cases of accounts: sign-in, registration, sessions, API keys and invitations.

The rules are in `octavo.model.accounts`, the queries in `octavo.store`.
"""
