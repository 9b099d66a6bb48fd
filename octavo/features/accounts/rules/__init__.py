"""The rules of accounts, as pure functions."""
