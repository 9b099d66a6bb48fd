"""The transaction scripts of history."""
