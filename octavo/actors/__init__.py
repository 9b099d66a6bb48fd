"""Actors: the concurrency core (``core``) and the kit that tests what is built on it."""
