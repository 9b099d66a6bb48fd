"""Accounts: sign-in, sessions, API keys, passwords, and what an account does with itself."""
