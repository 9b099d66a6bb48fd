"""The authorization server of the MCP endpoint: programs, consent, codes and tokens."""
