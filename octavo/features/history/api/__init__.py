"""The operations of history."""
