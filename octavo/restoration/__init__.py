"""Use cases that return files of a workspace to an earlier state."""
