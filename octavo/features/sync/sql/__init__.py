"""The transaction scripts of synchronization."""
