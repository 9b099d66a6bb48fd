"""Octavo, a self-hosted notes backend on trio.

The package's rooms: ``actors`` (the concurrency core and its testing kit), ``http`` (what is
answered over the network), ``cli`` (the command line). ``settings`` says what can be configured
and ``service`` puts the whole together.
"""

__version__ = "0.1.0"
