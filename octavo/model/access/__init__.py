"""The rules of access: accounts, roles, limits of credentials, rates, the audit."""
