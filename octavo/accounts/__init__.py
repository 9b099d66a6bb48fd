"""Who may sign in, and by what: accounts, passwords, sessions, keys, invitations.

The use cases; what they decide stands in `octavo.model`, what they keep in `octavo.store`.
"""
