"""The rules of archives, as pure functions."""
