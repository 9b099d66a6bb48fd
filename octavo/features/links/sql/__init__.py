"""The transaction scripts of links."""
