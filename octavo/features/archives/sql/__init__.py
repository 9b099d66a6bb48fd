"""The transaction scripts of archives."""
