"""The rules of the authorization server, as pure functions."""
