"""Notes and images as files: read, saved, changed together."""
