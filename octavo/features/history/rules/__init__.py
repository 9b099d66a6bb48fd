"""The rules of history, as pure functions."""
