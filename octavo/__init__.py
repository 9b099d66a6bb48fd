"""Octavo, a self-hosted notes backend on trio.

``docs/architecture.md`` describes the packages; import-linter enforces their borders. Nothing is
imported here, so that a part can be used without the others, such as `octavo.actors` or
`octavo_client`.
"""

__version__ = "0.1.0"
