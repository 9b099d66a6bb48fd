"""Background jobs: pruning of expired data, indexing, and removal of deleted data."""
