"""The operations of accounts."""
