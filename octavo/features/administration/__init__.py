"""What administrators and operators do with accounts, and the audit that they read."""
