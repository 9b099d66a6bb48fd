"""Example requests and responses of every operation, for the API document.

They form one story: Ada signs in, creates a note, saves, deletes, restores and purges it.
"""

from octavo.http.api.examples.attachments import ATTACHMENTS
from octavo.http.api.examples.identity import IDENTITY
from octavo.http.api.examples.mcp import MCP
from octavo.http.api.examples.notes import NOTES
from octavo.http.api.examples.programs import PROGRAMS
from octavo.http.api.examples.publishing import PUBLISHING
from octavo.http.contract.openapi import Example

EXAMPLES: dict[str, Example] = {
    **IDENTITY,
    **NOTES,
    **ATTACHMENTS,
    **PUBLISHING,
    **PROGRAMS,
    **MCP,
}
"""The examples, by operation id."""
