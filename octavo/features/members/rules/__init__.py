"""The rules of members, as pure functions."""
