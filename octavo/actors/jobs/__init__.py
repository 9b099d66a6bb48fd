"""Background jobs: retention, indexing, sweeping."""
