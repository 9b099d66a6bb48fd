"""The settings: their defaults, descriptions and checks, and the sources that they are read from.

A setting comes from ``octavo.toml``, from the environment variable ``OCTAVO_<NAME>``, or from an
option of the command line; of these, the last one wins.
"""

from octavo.settings.addresses import Bind
from octavo.settings.reading import LoadedSettings, SettingsError, read_settings
from octavo.settings.settings import KernelSettings

__all__ = ["Bind", "KernelSettings", "LoadedSettings", "SettingsError", "read_settings"]
