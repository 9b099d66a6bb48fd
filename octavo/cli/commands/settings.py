"""``octavo settings``: every setting, its value now, and where that comes from."""

import json
import textwrap

import click

from octavo.cli.output import Command, example, say
from octavo.cli.reading import read, takes_settings
from octavo.service.settings import Settings
from octavo.settings import LoadedSettings
from octavo.settings.reading import Description, describe, plain, shown

_WIDTH = 80


@click.command(
    "settings",
    cls=Command,
    help="Show every setting: its value and where that comes from, its meaning, its environment "
    "variable, its option, its default. Passwords are hidden.",
    epilog=example("octavo settings", "octavo settings --json --config /etc/octavo.toml"),
)
@click.option("--json", "as_json", is_flag=True, help="as one JSON object, for programs")
@takes_settings()
@click.pass_context
def command(context: click.Context, /, as_json: bool, **texts: str | None) -> None:
    """Print the settings. Raises `Failed`."""
    loaded = read(context, texts)
    say(_document(loaded) if as_json else _page(loaded))


def _document(loaded: LoadedSettings[Settings]) -> str:
    settings = [
        {
            "name": setting.name,
            "value": plain(getattr(loaded.settings, setting.name)),
            "origin": loaded.origins.get(setting.name, "default"),
            "default": setting.default,
            "variable": setting.variable,
            "option": setting.option,
            "meaning": setting.meaning,
        }
        for setting in describe(Settings)
    ]
    file = None if loaded.file is None else str(loaded.file)
    return json.dumps({"file": file, "settings": settings}, ensure_ascii=False, indent=2)


def _page(loaded: LoadedSettings[Settings]) -> str:
    return "\n\n".join("\n".join(_entry(setting, loaded)) for setting in describe(Settings))


def _entry(setting: Description, loaded: LoadedSettings[Settings]) -> list[str]:
    value = shown(plain(getattr(loaded.settings, setting.name))) or "none"
    default = shown(setting.default) or "none"
    lines = [f"{setting.name} = {value}"]
    details = [
        f"from {loaded.origins.get(setting.name, 'the default')}",
        setting.meaning,
        f"{', '.join(filter(None, (setting.variable, setting.option)))}; default {default}",
    ]
    for detail in details:
        lines += textwrap.wrap(
            detail,
            _WIDTH,
            initial_indent="    ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines
