"""The rules of search, as pure functions."""
