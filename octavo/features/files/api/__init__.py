"""The operations of files."""
