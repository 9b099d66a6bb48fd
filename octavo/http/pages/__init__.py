"""The frame of the HTML pages, which work without scripts."""

API_REFERENCE = "/api/docs"
"""The path of the API reference."""
