"""What the worker processes of archives run."""
