"""Published links: created, opened, read, reported."""
