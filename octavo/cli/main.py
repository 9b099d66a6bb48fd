"""The entry point of the command line: parse, choose the command, return the exit code.

Exit codes: 0 done; 1 the command failed, with one line that says why; 2 wrong usage or settings.
"""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import cast

import click

from octavo import __version__
from octavo.cli.output import Failed, help_option, say, tell
from octavo.cli.pauses import loading

# A command is loaded when it is called: the server alone takes a second.
_COMMANDS = {
    "serve": ("octavo.cli.commands.serve", "Run the service until it receives SIGTERM or SIGINT."),
    "invite": (
        "octavo.features.members.commands",
        "Create an invitation to register, and print its link.",
    ),
    "account": (
        "octavo.features.administration.commands.account",
        "List, show, lock, change and remove accounts.",
    ),
    "recover": (
        "octavo.features.accounts.commands.recover",
        "Print a link to choose a new password for an account.",
    ),
    "mail": ("octavo.features.mail.commands", "Test the mail settings."),
    "backup": (
        "octavo.cli.commands.backup",
        "Write a verified copy of the database and the images.",
    ),
    "restore": (
        "octavo.cli.commands.restore",
        "Put a backup in place of the database and the images.",
    ),
    "import": (
        "octavo.features.archives.commands.import_archive",
        "Import a folder or a zip archive into a workspace.",
    ),
    "export": (
        "octavo.features.archives.commands.export_archive",
        "Write a workspace to a zip archive.",
    ),
    "actors": ("octavo.cli.commands.actors", "Show the actors of the running service."),
    "settings": (
        "octavo.cli.commands.settings",
        "Show every setting: what it is, and where it comes from.",
    ),
    "operator-token": (
        "octavo.features.administration.commands.operator_token",
        "Make a token for the service of the operator.",
    ),
    "openapi": ("octavo.cli.commands.openapi", "Print the API document."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        with loading():
            return cast("click.Command", import_module(_COMMANDS[cmd_name][0]).command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return help_option()


def _show_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        say(f"octavo {__version__}")
        context.exit()


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    help="A self-hosted notes backend.",
    epilog="`octavo COMMAND --help` describes a command, with an example.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def _octavo(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        say(context.get_help())


def main(argv: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run the command that ``argv`` names and return its exit code.

    ``argv`` and ``environment`` are the process's own when left out. Without a command the help
    is printed.
    """
    try:
        code = _octavo.main(
            argv,
            prog_name="octavo",
            standalone_mode=False,
            obj=os.environ if environment is None else environment,
        )
    except Failed as failure:
        tell(*failure.problems)
        return failure.exit_code
    except click.UsageError as error:
        tell(_usage_problem(error))
        return error.exit_code
    except click.Abort:
        tell("interrupted")
        return 1
    return cast("int", code or 0)


def _usage_problem(error: click.UsageError) -> str:
    # click ends some of its messages with a full stop, and others without.
    message = error.format_message()
    sentence = message if message.endswith((".", "?", "!")) else f"{message}."
    command = "octavo" if error.ctx is None else error.ctx.command_path
    # Only the group raises this class itself for what is not an option: an unknown command.
    unknown = error.ctx is not None and isinstance(error.ctx.command, click.Group)
    of_option = isinstance(error, click.NoSuchOption | click.BadOptionUsage)
    listed = "commands" if unknown and not of_option else "options"
    return f"{sentence} `{command} --help` lists the {listed}."
