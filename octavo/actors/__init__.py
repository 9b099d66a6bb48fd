"""The actors of the service: workspaces, storage, the notice hub, and background jobs."""
