"""Fields of the operations on accounts."""

from typing import Annotated

from pydantic import Field

from octavo.features.accounts.rules.password import LONGEST as LONGEST_PASSWORD
from octavo.features.accounts.rules.password import SHORTEST as SHORTEST_PASSWORD

NewPassword = Annotated[
    str,
    Field(
        repr=False,
        json_schema_extra={"minLength": SHORTEST_PASSWORD, "maxLength": LONGEST_PASSWORD},
    ),
]
"""A new password; its length is counted in Unicode form NFKC."""
