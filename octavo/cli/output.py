"""The output of a command: results and help on standard output, errors on standard error."""

import os
import sys
from contextlib import suppress
from typing import TextIO

import click


class Failed(Exception):
    """The command can't go on: a line for each of ``problems``, and the ``exit_code``."""

    def __init__(self, *problems: str, exit_code: int = 1) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.exit_code = exit_code


class OutputFailed(Failed):
    """Standard output is closed, full or gone; the text says which."""


def say(text: str) -> None:
    """Write ``text`` and a line feed to standard output, unbuffered.

    Characters that its encoding lacks become question marks. Raises `OutputFailed`.
    """
    # Python has none when the process was started with it closed.
    if sys.stdout is None:
        raise OutputFailed("standard output is closed")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stdout.flush()
    except OSError as error:
        _discard_the_rest(sys.stdout)
        raise OutputFailed(f"standard output can't be written: {error.strerror}") from error


def tell(*problems: str) -> None:
    """Write a line for each of ``problems`` to standard error, in printable characters."""
    draw("".join(f"octavo: {printable(problem)}\n" for problem in problems))


def printable(text: str) -> str:
    """Return ``text`` with its unprintable characters escaped.

    It may quote an argument: control characters must not reach a terminal, and bytes that are not
    UTF-8 can't be written.
    """
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def draw(text: str) -> None:
    """Write ``text`` to standard error as it is; drop it when that fails."""
    # The exit code reports a failure even when nobody can read the text.
    if sys.stderr is not None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            _discard_the_rest(sys.stderr)


def _discard_the_rest(stream: TextIO) -> None:
    # Otherwise flushing the buffer at the exit would fail again, with a traceback.
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), stream.fileno())


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
