"""The help of a command, which fails like any other output when it can't be written."""

import click

from octavo.cli.output import say


def help_option() -> click.Option:
    """Make the option that shows the help of its command."""

    def show(context: click.Context, option: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            say(context.get_help())
            context.exit()

    return click.Option(
        ["-h", "--help"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show this and exit.",
    )


class Command(click.Command):
    """A command with that help, whose errors of usage name it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options. Raises `click.UsageError` with the context of this command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            # click's parser does not know the command of an option that lacks its value.
            if error.ctx is None:
                error.ctx = ctx
            raise

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option that shows the help."""
        return help_option()


class CommandGroup(click.Group):
    """A group of commands with that help."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option that shows the help."""
        return help_option()


def command_group(name: str, *, help: str, epilog: str) -> CommandGroup:  # noqa: A002 - as click
    """Return a group of commands, which prints its help unless a command follows."""

    @click.pass_context
    def show(context: click.Context) -> None:
        if context.invoked_subcommand is None:
            say(context.get_help())

    return CommandGroup(name, invoke_without_command=True, callback=show, help=help, epilog=epilog)


def example(*lines: str) -> str:
    """Return the example that follows the options in the help of a command."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
