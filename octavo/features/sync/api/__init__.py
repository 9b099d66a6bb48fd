"""The operations of synchronization."""
