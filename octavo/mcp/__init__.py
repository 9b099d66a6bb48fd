"""The Model Context Protocol: assistants read notes, and change them where the operator allows it.

The protocol, its tools and its resources; how they reach notes is `octavo.mcp.notes.Notes`.
Loaded only where the setting ``mcp`` is on, since the models of the protocol are large.
"""
