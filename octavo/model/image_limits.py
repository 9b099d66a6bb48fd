"""Limits of images that forms and workers know."""

MAX_BYTES = 32 * 1024 * 1024
"""The largest file that is read, in bytes."""
