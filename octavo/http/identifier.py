"""Identifiers on the wire: UUIDs in the one notation of RFC 9562 section 4, in lower case."""

from typing import Annotated

from pydantic import Field

Identifier = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        json_schema_extra={"format": "uuid"},
    ),
]
"""An identifier, given or answered."""
