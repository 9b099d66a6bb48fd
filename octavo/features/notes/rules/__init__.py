"""The rules of a workspace, as pure functions."""
