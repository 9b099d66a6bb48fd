"""Attacks on the availability of a real server, while somebody else works with it.

The server, the bystander and the attackers are processes of their own: none shares an interpreter
with another.
"""
