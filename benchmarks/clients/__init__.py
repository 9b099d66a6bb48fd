"""Load generators, written to cost as little as Python can."""
