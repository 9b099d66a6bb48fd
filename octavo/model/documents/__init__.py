"""Yjs documents of notes: reading, checking and bounding updates."""
