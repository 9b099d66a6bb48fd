"""The domain model: values, and pure functions that decide what may happen to them.

Nothing here reads a clock, a file or a socket, so every rule can be tested with values alone.
"""
