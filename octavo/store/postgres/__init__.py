"""PostgreSQL: each script a serializable transaction; notices between processes.

Nothing is imported here: an installation on SQLite does not load the client.
"""
