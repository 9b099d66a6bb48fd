"""Cursors of invented histories."""

from octavo_rules.identity import START, Cursor, Position, RevisionId


def at(position: int, history: str = "mark") -> Cursor:
    """The cursor of a position in a history; all histories begin equally."""
    if not position:
        return START
    return Cursor(Position(position), RevisionId(f"{history}-{position}"))
