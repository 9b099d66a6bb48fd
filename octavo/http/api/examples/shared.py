"""Values of several examples of requests and responses."""

from octavo.http.contract.openapi import Example
from octavo.http.contract.schemas import Json

ACCOUNT = "019cad9d-6818-7c3a-9f41-6b1d0e8a2f57"
WORKSPACE = "019cada2-2858-71e8-8a02-d47c93b5e610"
WORKSPACE_DOCUMENT: Json = {
    "id": WORKSPACE,
    "name": "Kitchen",
    "role": "owner",
    "createdAt": "2026-03-02T08:20:11.480Z",
}
REMOVED = Example(response={"removed": True})
