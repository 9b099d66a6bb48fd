"""Which updates of documents the server accepts, and what loading them costs."""
