"""The operations of archives."""
