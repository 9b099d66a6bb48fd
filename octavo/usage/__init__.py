"""Limits of usage: what is read and written in a month, and the storage of accounts."""
