"""What passes with time, and how long it is promised to stay: written from the documentation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from uuid import UUID

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.model.usage import month_of
from octavo.store import Script, Transaction
from octavo.store.transaction import Value

DAY = 86_400_000
"""Milliseconds."""
NEVER = 10**15
LIVES = "EXISTS (SELECT 1 FROM workspaces WHERE pk = $.workspace)"
"""Whether the workspace of a row exists: what a deleted one has left is removed in any case."""
MONTH_AFTER_NEXT = "1000 * CAST(strftime('%s', $.month || '-01', '+2 months') AS INTEGER)"
"""When counts of a month are not needed any more, in milliseconds."""
HAS_GRANT = "EXISTS (SELECT 1 FROM oauth_grants WHERE id = $.grant_id)"
GRANT_END = "(SELECT expires_at FROM oauth_grants WHERE id = $.grant_id)"
HAS_PROGRAM = "EXISTS (SELECT 1 FROM oauth_grants WHERE program = $.pk)"
NAMES_PROGRAM = " OR ".join(
    f"EXISTS (SELECT 1 FROM {table} WHERE program = $.pk)" for table in ("files", "revisions")
)
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


def _registration(row: Columns) -> tuple[int, int]:
    end = (row[0] or 0) + DAY
    return (end, end) if row[1] is None else (NEVER, NEVER)


def _ended_program(row: Columns) -> tuple[int, int]:
    ended, referred, alone = row[0] or 0, row[1], row[2]
    if referred or not row[0]:
        return NEVER, NEVER
    # One that a note referred to is removed when its history is pruned.
    return ended + 30 * DAY, ended + 30 * DAY if alone else NEVER


def _counts(row: Columns) -> tuple[int, int]:
    # Those of the present month and of the one before are kept.
    return row[0] or 0, row[0] or 0


def _writer(row: Columns) -> tuple[int, int]:
    return (row[0] or 0) + 2 * DAY, (row[0] or 0) + 2 * DAY


def _link(row: Columns) -> tuple[int, int]:
    ended, taken_down = _ended(row[:2]), row[2]
    if ended is None or taken_down is not None:
        return NEVER, NEVER
    return ended + 90 * DAY, ended + 90 * DAY


def _secret(row: Columns) -> tuple[int, int]:
    end, grant_is_there = row[0] or 0, row[1]
    if not grant_is_there:
        # It is removed with its grant.
        return 0, 0
    return min(end, row[2] or NEVER), min(end, row[2] or NEVER)


def _grant(row: Columns) -> tuple[int, int]:
    end = min(row[0] or NEVER, max(row[1] or 0, row[2] or 0))
    return end, end


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
    Kind("mail_budgets", "$.address", ("$.theoretical_arrival_at",), _expiring, (0,)),
    Kind("oauth_clients", "$.id", ("$.created_at", "$.granted_at"), _registration, (1,)),
    Kind(
        "oauth_programs",
        "$.client",
        ("$.ended_at", f"{HAS_PROGRAM} OR {NAMES_PROGRAM}", "$.name = 'alone'"),
        _ended_program,
        (30,),
    ),
    Kind("audit", "$.id", ("$.at",), _audit, (365, 0)),
    Kind(
        "restorations",
        "$.id",
        ("$.updated_at", LIVES, "$.state <> 'running'"),
        _restoration,
        (31, 0),
    ),
    Kind("account_usage", "$.account_id", (MONTH_AFTER_NEXT,), _counts, (61, 0)),
    Kind("installation_usage", "$.month", (MONTH_AFTER_NEXT,), _counts, (61, 0)),
    Kind("usage_writers", "$.id", ("$.written_at",), _writer, (2, 0)),
    Kind(
        "publications", "$.id", ("$.revoked_at", "$.expires_at", "$.taken_down_at"), _link, (90, 92)
    ),
    Kind("oauth_codes", "$.digest", ("$.expires_at", HAS_GRANT, GRANT_END), _secret, (0,)),
    Kind("oauth_tokens", "$.digest", ("$.expires_at", HAS_GRANT, GRANT_END), _secret, (0,)),
    Kind(
        "oauth_grants",
        "$.id",
        (
            "$.expires_at",
            "(SELECT MAX(expires_at) FROM oauth_codes WHERE grant_id = $.id)",
            "(SELECT MAX(expires_at) FROM oauth_tokens WHERE grant_id = $.id)",
        ),
        _grant,
        (0,),
    ),
)
BY_TABLE = {kind.table: kind for kind in KINDS}


def key_of(table: str, row_id: str, at: int, account_id: AccountId) -> str:
    """Return the key of a row that `insertion` makes, as `Kind.sql` does."""
    key = BY_TABLE[table].key
    value: str = {"$.account_id": account_id, "$.month": month_of(at / 1000)}.get(key, row_id)
    return (UUID(value).bytes if key.endswith("id") else value.encode()).hex().upper()


def insertion(
    table: str,
    row_id: str,
    at: int,
    random: Random,
    *,
    account_id: AccountId,
    workspace: int,
    workspace_id: WorkspaceId,
) -> Script[None]:
    """Return a script that inserts a row which began, or ends, at a time in milliseconds.

    One of what people allow programs is inserted with its grant, or with a code and tokens.
    """
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
            values = {"address": row_id, "theoretical_arrival_at": at}
        case "oauth_clients":
            values = {
                "id": row_id,
                "metadata": "[]",
                "management_digest": b"",
                "created_at": at,
                "granted_at": ended,
            }
        case "oauth_programs":
            return _insert_program(row_id, at, random, account_id)
        case "account_usage" | "installation_usage":
            owner = {"account_id": account_id} if table == "account_usage" else {"write_objects": 1}
            values = {
                **owner,
                "month": month_of(at / 1000),
                "download_bytes": 1,
                "download_objects": 1,
            }
        case "usage_writers":
            values = {"id": row_id, "batch": 1, "written_at": at}
        case "publications":
            values = {
                "id": row_id,
                "workspace_id": workspace_id,
                "digest": row_id.encode(),
                "folder": "",
                "created_at": at - 7 * DAY,
                "expires_at": random.choice([None, at]),
                "revoked_at": random.choice([None, *[at - random.randrange(3 * DAY)] * 2]),
                "taken_down_at": random.choice([None, None, None, None, at]),
                "created_by_id": account_id,
            }
        case "oauth_codes" | "oauth_tokens" | "oauth_grants":
            return _insert_grant(row_id, at, random, account_id)
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
                "start_position": 0,
                "folder": "",
                "state": random.choice(["running", "failed", "done"]),
                **dict.fromkeys(("steps", "last_position", "total", "done", "skipped_count"), 0),
                "skipped_files": "",
                "started_at": at,
                "updated_at": at,
            }
    return _insert(table, values)


def _insert_program(row_id: str, at: int, random: Random, account_id: AccountId) -> Script[None]:
    """Return a script that inserts a program that has ended; a note or a grant may name it."""
    name = random.choice(["alone", "alone", "of a note", "of a grant"])
    program = "(SELECT pk FROM oauth_programs WHERE client = $1)"

    async def insert(transaction: Transaction) -> None:
        await _insert("oauth_programs", {"client": row_id, "name": name, "ended_at": at})(
            transaction
        )
        if name == "of a note":
            await transaction.execute(
                f"UPDATE files SET program = {program} WHERE pk ="
                " (SELECT MAX(pk) FROM files WHERE program IS NULL)",
                row_id,
            )
        elif name == "of a grant":
            grant: dict[str, Value] = {
                "id": row_id,
                "account_id": account_id,
                "scopes": "read",
                "created_at": at,
            }
            number = await transaction.fetch_one(
                "SELECT pk FROM oauth_programs WHERE client = $1", row_id
            )
            assert number is not None
            await _insert("oauth_grants", grant | {"program": number[0]})(transaction)
            secret: dict[str, Value] = {
                "digest": f"code of {row_id}".encode(),
                "grant_id": row_id,
                "challenge": "",
                "expires_at": at + 60 * DAY,
            }
            await _insert("oauth_codes", secret)(transaction)

    return insert


def _insert_grant(row_id: str, at: int, random: Random, account_id: AccountId) -> Script[None]:
    """Return a script that inserts a grant with a code or tokens, one of which ends at a time."""
    secrets = random.choice([("code",), ("access", "refresh"), ("code", "access")])
    ends = [at, *(at + random.randrange(-3 * DAY, 3 * DAY) for _ in secrets[1:])]
    random.shuffle(ends)
    grant: dict[str, Value] = {
        "id": row_id,
        "account_id": account_id,
        "program": 0,
        "scopes": "read",
        "created_at": at - 30 * DAY,
        "expires_at": random.choice([None, None, at - DAY, at + 2 * DAY]),
    }

    async def insert(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO oauth_programs (pk, client, name)"
            " VALUES (0, 'https://client.example/program', '') ON CONFLICT DO NOTHING"
        )
        await _insert("oauth_grants", grant)(transaction)
        if not await transaction.fetch_all(
            "SELECT 1 FROM oauth_grants WHERE id = $1::uuid", row_id
        ):
            return
        for kind, end in zip(secrets, ends, strict=True):
            secret: dict[str, Value] = {"digest": f"{kind} {row_id}".encode(), "grant_id": row_id}
            secret |= {"expires_at": end}
            if kind == "code":
                await _insert("oauth_codes", secret | {"challenge": ""})(transaction)
            else:
                token = secret | {"kind": kind, "scopes": "read"}
                await _insert("oauth_tokens", token)(transaction)

    return insert


_OWNERS = {
    "workspace_id": "SELECT 1 FROM workspaces WHERE id = $1::uuid",
    "workspace": "SELECT 1 FROM workspaces WHERE pk = $1",
    "account_id": "SELECT 1 FROM accounts WHERE id = $1::uuid",
    "actor_id": "SELECT 1 FROM accounts WHERE id = $1::uuid",
}


def _insert(table: str, values: dict[str, Value]) -> Script[None]:
    uuids = (
        *("id", "account_id", "actor_id", "mutation_id", "workspace_id"),
        *("created_by_id", "grant_id"),
    )
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
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places}) ON CONFLICT DO NOTHING",
            *values.values(),
        )

    return insert
