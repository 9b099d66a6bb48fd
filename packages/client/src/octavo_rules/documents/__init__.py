"""Yjs documents of notes: their parts, their edits, and one in memory."""
