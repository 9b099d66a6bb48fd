"""The store on the oldest SQLite that it accepts."""
