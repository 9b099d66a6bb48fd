"""The operations of administration."""
