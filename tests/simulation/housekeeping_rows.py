"""What passes with time, and how long it is promised to stay: written from the documentation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from octavo.model.identity import AccountId
from octavo.store import Script, Transaction
from octavo.store.transaction import Value

DAY = 86_400_000
"""Milliseconds."""
NEVER = 10**15
LIVES = "EXISTS (SELECT 1 FROM workspaces WHERE number = $.workspace)"
"""Whether the workspace of a row exists: what a deleted one has left is removed in any case."""
Columns = Sequence[int | None]
Promise = Callable[[Columns], tuple[int, int]]
"""Returns until when a row is kept, and when it has to be removed, from some of its columns."""


def _ended(row: Columns) -> int | None:
    return next((each for each in row if each is not None), None)


def _invitation(row: Columns) -> tuple[int, int]:
    ended = _ended(row) or 0
    return ended + 90 * DAY, ended + 90 * DAY


def _session(row: Columns) -> tuple[int, int]:
    created, active = row[0] or 0, row[1] or 0
    end = min(created + 90 * DAY, active + 30 * DAY)
    return end, end


def _receipt(row: Columns) -> tuple[int, int]:
    if not row[1]:
        return 0, NEVER
    return (row[0] or 0) + 30 * DAY, (row[0] or 0) + 31 * DAY


def _restoration(row: Columns) -> tuple[int, int]:
    return _receipt(row) if row[2] or not row[1] else (NEVER, NEVER)


def _expiring(row: Columns) -> tuple[int, int]:
    return row[0] or 0, row[0] or 0


def _program(row: Columns) -> tuple[int, int]:
    end = (row[0] or 0) + DAY
    return (end, end) if row[1] is None else (NEVER, NEVER)


def _audit(row: Columns) -> tuple[int, int]:
    return (row[0] or 0) + 365 * DAY, (row[0] or 0) + 365 * DAY


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of rows; in SQL, ``$.`` stands for the row.

    Attributes:
        key: what identifies a row.
        columns: what its promise depends on.
        lives: days after which a row of this kind may be removed, about.
    """

    table: str
    key: str
    columns: tuple[str, ...]
    promise: Promise
    lives: tuple[int, ...]

    def sql(self, row: str) -> str:
        """Return the key and the columns of ``row`` as SQL."""
        named = ", ".join(each.replace("$", row) for each in self.columns)
        key = self.key.replace("$", row)
        return f"hex({key}), json_array({named})"


KINDS = (
    Kind("sessions", "$.id", ("$.created_at", "$.active_at"), _session, (30, 90)),
    Kind("receipts", "$.mutation_id", ("$.created_at", LIVES), _receipt, (31, 0)),
    Kind(
        "invitations", "$.id", ("$.used_at", "$.revoked_at", "$.expires_at"), _invitation, (90, 97)
    ),
    Kind("portal_tokens", "$.digest", ("$.expires_at",), _expiring, (0,)),
    Kind("password_resets", "$.digest", ("$.expires_at",), _expiring, (0,)),
    Kind("mail_budgets", "$.address", ("$.paid_at",), _expiring, (0,)),
    Kind("oauth_clients", "$.id", ("$.created_at", "$.granted_at"), _program, (1,)),
    Kind("audit", "$.id", ("$.at",), _audit, (365, 0)),
    Kind(
        "restorations",
        "$.id",
        ("$.updated_at", LIVES, "$.state <> 'running'"),
        _restoration,
        (31, 0),
    ),
)
BY_TABLE = {kind.table: kind for kind in KINDS}


def insertion(
    table: str,
    row_id: str,
    at: int,
    random: Random,
    *,
    account_id: AccountId,
    workspace: int,
) -> Script[None]:
    """Return a script that inserts a row which began, or ends, at a time in milliseconds."""
    ended = random.choice([None, at + random.randrange(7 * DAY)])
    values: dict[str, Value]
    match table:
        case "sessions":
            active = at + random.choice([0, 0, 20, 60, 70]) * DAY
            values = {
                "id": row_id,
                "account_id": account_id,
                "digest": row_id.encode(),
                "device": "",
                "client": "",
                "created_at": at,
                "active_at": active,
            }
        case "receipts":
            values = {
                "workspace": workspace,
                "mutation_id": row_id,
                "fingerprint": b"",
                "position": 1,
                "changes": b"",
                "created_at": at,
            }
        case "invitations":
            values = {
                "id": row_id,
                "digest": row_id.encode(),
                "role": "member",
                "created_at": at,
                "expires_at": at + 7 * DAY,
                "used_at": ended if random.random() < 0.5 else None,
                "revoked_at": ended,
            }
        case "portal_tokens" | "password_resets":
            values = {"digest": row_id.encode(), "account_id": account_id, "expires_at": at}
        case "mail_budgets":
            values = {"address": row_id, "paid_at": at}
        case "oauth_clients":
            values = {
                "id": row_id,
                "metadata": "[]",
                "management_digest": b"",
                "created_at": at,
                "granted_at": ended,
            }
        case "audit":
            values = {
                "id": row_id,
                "at": at,
                "kind": "sign_in",
                "actor_id": account_id,
                "client": "192.0.2.1",
                "outcome": "done",
                "detail": "",
            }
        case _:
            values = {
                "workspace": workspace,
                "id": row_id,
                "account_id": account_id,
                "target": 0,
                "present": 0,
                "folder": "",
                "state": random.choice(["running", "failed", "done"]),
                **dict.fromkeys(("steps", "last", "total", "done", "left_count"), 0),
                "left_files": "",
                "started_at": at,
                "updated_at": at,
            }
    return _insert(table, values)


_OWNERS = {
    "workspace": "SELECT 1 FROM workspaces WHERE number = $1",
    "account_id": "SELECT 1 FROM accounts WHERE id = $1::uuid",
    "actor_id": "SELECT 1 FROM accounts WHERE id = $1::uuid",
}


def _insert(table: str, values: dict[str, Value]) -> Script[None]:
    uuids = ("id", "account_id", "actor_id", "mutation_id", "workspace_id")
    places = ", ".join(
        f"${number}{'::uuid' if name in uuids else ''}" for number, name in enumerate(values, 1)
    )

    async def insert(transaction: Transaction) -> None:
        # They may have been deleted in the meantime.
        for column, sql in _OWNERS.items():
            owner = values.get(column)
            if owner is not None and not await transaction.fetch_all(sql, owner):
                return
        await transaction.execute(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", *values.values()
        )

    return insert
