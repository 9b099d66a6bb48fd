"""The transaction scripts of published links."""
