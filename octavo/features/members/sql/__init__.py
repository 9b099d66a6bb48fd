"""The transaction scripts of members."""
