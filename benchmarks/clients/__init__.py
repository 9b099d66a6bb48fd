"""Clients that make load, written to cost as little as Python can."""
