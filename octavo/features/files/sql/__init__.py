"""The transaction scripts of files."""
