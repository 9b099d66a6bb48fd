"""The operations of legal documents."""
