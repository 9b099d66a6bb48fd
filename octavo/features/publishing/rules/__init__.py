"""The rules of published links, as pure functions."""
