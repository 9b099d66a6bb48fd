"""The pages of a workspace, on which a person reads and writes notes."""
