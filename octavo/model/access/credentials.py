"""The identities of what callers are known by."""

from typing import NewType

SessionId = NewType("SessionId", str)


KeyId = NewType("KeyId", str)


GrantId = NewType("GrantId", str)


ClientId = NewType("ClientId", str)
"""An identifier that was issued at registration, or the address of a metadata document."""
