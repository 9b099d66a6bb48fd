"""Use cases of archives: import one into a workspace, and export a workspace."""
