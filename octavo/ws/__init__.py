"""The stream of notices: what WebSockets tell devices about their workspaces."""
