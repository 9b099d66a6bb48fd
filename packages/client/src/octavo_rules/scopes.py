"""What a limited credential may do with notes."""

from typing import Final, Literal

Scope = Literal["notes:read", "notes:write"]

READ: Final[Scope] = "notes:read"
WRITE: Final[Scope] = "notes:write"
SCOPES: Final[tuple[Scope, ...]] = (READ, WRITE)
