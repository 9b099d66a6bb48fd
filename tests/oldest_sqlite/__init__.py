"""The search index on the oldest SQLite that is accepted."""
