"""The Model Context Protocol: notes as tools and resources for assistants."""
