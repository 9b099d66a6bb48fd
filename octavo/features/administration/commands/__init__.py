"""The commands of administration."""
