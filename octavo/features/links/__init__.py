"""Links between notes: the index, what links to a file, links that follow a move."""
