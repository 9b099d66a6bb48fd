"""Requests that no honest client sends, to every operation, with ids of other accounts in them.

``values`` are misplaced values, ``documents`` updates and queries, ``requests`` the well-formed
requests and their mutations, ``websockets`` the same for the notice stream. Each case is a function
of its number.
"""
