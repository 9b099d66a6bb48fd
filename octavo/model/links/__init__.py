"""Links between files of a workspace: found in Markdown, resolved, and rewritten after moves."""
