"""The authorization server of the MCP endpoint: clients, consent, codes and tokens."""
