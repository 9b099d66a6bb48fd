"""Servers that a benchmark starts in processes of their own, one at a time."""
