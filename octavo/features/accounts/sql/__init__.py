"""The transaction scripts of accounts."""
