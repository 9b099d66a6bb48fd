"""The settings: every one with its default, its meaning and its check, and where they are read.

A setting comes from ``octavo.toml``, from the environment variable ``OCTAVO_<NAME>``, or from an
option of the command line; the later goes first.
"""

from octavo.settings.addresses import Bind
from octavo.settings.reading import LoadedSettings, SettingsError, read_settings
from octavo.settings.settings import KernelSettings

__all__ = ["Bind", "KernelSettings", "LoadedSettings", "SettingsError", "read_settings"]
