"""``octavo account``: list, show, lock, change and remove accounts from the terminal."""

import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import click
import trio
from pydantic.alias_generators import to_camel

from octavo.cli.output import Command, Failed, command_group, example, printable, say
from octavo.cli.progress import size_text
from octavo.cli.reading import read, takes_settings
from octavo.control.client import ControlFailed, NoServer, ask
from octavo.control.serving import COMMAND_SECONDS
from octavo.features.accounts.commands.recover import command as recover
from octavo.features.accounts.rules.decisions import LONGEST_REASON
from octavo.features.administration import account_commands as commands
from octavo.settings import KernelSettings

_ADDRESS = 36
"""Columns of an address in the list."""


command = command_group(
    "account",
    help="List, show, lock, change and remove accounts. The server may run or not: a running one "
    "applies a change immediately. ACCOUNT is an address or an id.",
    epilog=example(
        "octavo account list",
        'octavo account lock ada@example.org --reason "The laptop is lost."',
    ),
)
command.add_command(recover)


@command.command("list", cls=Command, help="List all accounts, the oldest first.")
@click.option("--json", "as_json", is_flag=True, help="as one JSON object, for programs")
@takes_settings("data_dir", "database")
@click.pass_context
def list_accounts(context: click.Context, /, as_json: bool, **options: str | None) -> None:
    """Print the accounts. Raises `Failed`."""
    settings = read(context, options).settings
    accounts: list[commands.AccountRecord] = []
    after: str | None = None
    while True:
        page = _done(settings, commands.AccountCommand(action="list", after=after))
        accounts += page.accounts
        after = page.following
        if after is None:
            break
    if as_json:
        say(_json({"accounts": [for_programs(account) for account in accounts]}))
    else:
        say("\n".join(table(accounts)))


@command.command("show", cls=Command, help="Show an account.")
@click.argument("account", metavar="ACCOUNT")
@click.option("--json", "as_json", is_flag=True, help="as one JSON object, for programs")
@takes_settings("data_dir", "database")
@click.pass_context
def show(context: click.Context, /, account: str, as_json: bool, **options: str | None) -> None:
    """Print the account. Raises `Failed`."""
    shown = _one(context, options, "show", account)
    say(_json(for_programs(shown)) if as_json else "\n".join(details(shown)))


@command.command(
    "lock",
    cls=Command,
    short_help="Lock an account: it can only read and remove what it has.",
    help="Lock an account: it can sign in, and use a few operations such as listing and removing "
    "what it has.",
)
@click.argument("account", metavar="ACCOUNT")
@click.option(
    "--reason",
    metavar="TEXT",
    help=f"why, in at most {LONGEST_REASON} characters on one line; the person reads it",
)
@takes_settings("data_dir", "database")
@click.pass_context
def lock(
    context: click.Context, /, account: str, reason: str | None, **options: str | None
) -> None:
    """Lock the account. Raises `Failed`."""
    if reason is not None and not 0 < len(reason.strip()) <= LONGEST_REASON:
        raise Failed(f"give a reason of 1 to {LONGEST_REASON} characters", exit_code=2)
    changed = _one(context, options, "lock", account, reason)
    say(f"{changed.address} is locked")


@command.command("remove", cls=Command, help="Remove an account with everything that only it owns.")
@click.argument("account", metavar="ACCOUNT")
@click.option("--yes", is_flag=True, help="do not ask for confirmation")
@takes_settings("data_dir", "database")
@click.pass_context
def remove(context: click.Context, /, account: str, yes: bool, **options: str | None) -> None:
    """Remove the account. Raises `Failed`."""
    if not yes:
        _confirm(account)
    removed = _one(context, options, "remove", account)
    say(f"{removed.address} is removed")


def _confirm(account: str) -> None:
    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise Failed("nobody can confirm this: give --yes to remove the account", exit_code=2)
    question = (
        f"Remove the account {printable(account)}, with the workspaces that nobody else can"
        " inherit? This can't be undone."
    )
    if not click.confirm(question, err=True):
        raise Failed("nothing was changed")


def _changes(
    action: commands.AccountAction, summary: str, result: Callable[[commands.AccountRecord], str]
) -> click.Command:
    """Return the command of a change that needs nothing but the account."""

    @click.argument("account", metavar="ACCOUNT")
    @takes_settings("data_dir", "database")
    @click.pass_context
    def change(context: click.Context, /, account: str, **options: str | None) -> None:
        say(result(_one(context, options, action, account)))

    return click.command(action, cls=Command, help=summary)(change)


def _unlocked(account: commands.AccountRecord) -> str:
    if account.controls_locked:
        return f"{account.address} is unlocked, but its controls still lock it"
    return f"{account.address} is unlocked"


for change in (
    _changes("unlock", "Unlock an account.", _unlocked),
    _changes(
        "disable",
        "Disable an account: it cannot sign in, and its sessions end.",
        lambda account: f"{account.address} is disabled",
    ),
    _changes(
        "enable", "Enable a disabled account.", lambda account: f"{account.address} is enabled"
    ),
    _changes(
        "promote",
        "Make an account an administrator of the installation.",
        lambda account: f"{account.address} is an administrator",
    ),
    _changes(
        "demote",
        "Make an administrator a member again.",
        lambda account: f"{account.address} is a member",
    ),
):
    command.add_command(change)


def _one(
    context: click.Context,
    options: Mapping[str, str | None],
    action: commands.AccountAction,
    account: str,
    reason: str | None = None,
) -> commands.AccountRecord:
    if not 0 < len(account) <= 320:
        raise Failed("name an account by its address or its id", exit_code=2)
    for name, value in (("account", account), ("reason", reason or "")):
        if not _is_unicode(value):
            raise Failed(f"the {name} is not text in UTF-8", exit_code=2)
    asked = commands.AccountCommand(action=action, account=account, reason=reason)
    [record] = _done(read(context, options).settings, asked).accounts
    return record


def _is_unicode(argument: str) -> bool:
    # Python decodes bytes of an argument that are not UTF-8 to surrogates.
    return not any("\ud800" <= one <= "\udfff" for one in argument)


def _done(
    settings: KernelSettings, asked: commands.AccountCommand
) -> commands.AccountCommandResult:
    try:
        text = ask(
            settings.data_dir,
            commands.NAME,
            asked.model_dump(exclude_none=True),
            patience=COMMAND_SECONDS + 5,
        )
        result = commands.AccountCommandResult.model_validate_json(text)
    except NoServer:
        # It loads all features.
        from octavo.service.features import LISTENERS

        result = trio.run(commands.run_beside, settings, LISTENERS, asked)
    except ControlFailed as error:
        raise Failed(str(error)) from None
    if result.refusal is not None:
        raise Failed(result.refusal)
    return result


def table(accounts: list[commands.AccountRecord]) -> list[str]:
    """Return the lines of a list, of at most 80 columns."""
    rows = [("ADDRESS", "ROLE", "STATE", "STORAGE", "LAST USED")]
    rows += [
        (
            _shortened(account.address),
            account.role,
            account.effective_state,
            size_text(account.storage_used),
            "never" if account.last_active_at is None else _day(account.last_active_at),
        )
        for account in accounts
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def details(account: commands.AccountRecord) -> list[str]:
    """Return the lines that describe an account."""
    limit = account.storage_limit
    used = size_text(account.storage_used)
    lines = [
        ("address", account.address),
        ("id", account.id),
        ("name", account.display_name),
        ("role", account.role),
        ("state", account.state),
        ("reason", account.lock_reason),
        ("controls", "locked" if account.controls_locked else None),
        ("reason", account.controls_lock_reason),
        ("files", used if limit is None else f"{used} of {size_text(limit)}"),
        ("created", _day(account.created_at)),
        ("last used", None if account.last_active_at is None else _day(account.last_active_at)),
    ]
    return [f"{name + ':':<10} {value}" for name, value in lines if value is not None]


def _shortened(address: str) -> str:
    return address if len(address) <= _ADDRESS else f"{address[: _ADDRESS - 1]}…"


def _day(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d")


def for_programs(account: commands.AccountRecord) -> dict[str, object]:
    """Return the members of an account, named as those of the API are."""
    return {to_camel(name): value for name, value in account.model_dump().items()}


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2)
