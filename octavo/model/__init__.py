"""What things are and what may happen to them: values and pure functions.

Nothing here reads a clock, a file or a socket, so every rule can be tried with values alone.
"""
