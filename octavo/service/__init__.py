"""Build the service from its settings, run it, and stop it."""
