"""Files of a workspace: paths, revisions, changesets, and how changesets are planned."""
