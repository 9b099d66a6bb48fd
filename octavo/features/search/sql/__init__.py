"""The transaction scripts of search."""
