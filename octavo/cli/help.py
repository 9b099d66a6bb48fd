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
        ["--help"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show this and exit.",
    )


class Command(click.Command):
    """A command with that help."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Answer the option that shows the help."""
        return help_option()


def example(*lines: str) -> str:
    """Answer what stands below the options in the help of a command."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
