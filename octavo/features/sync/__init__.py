"""The feed, the snapshot and the notices by which devices stay in step."""
