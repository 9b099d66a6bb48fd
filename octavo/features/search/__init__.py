"""Search in the texts of notes."""
