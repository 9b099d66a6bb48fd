"""What the worker processes of images run."""
