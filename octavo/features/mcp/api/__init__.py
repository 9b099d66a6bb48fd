"""The operations of the Model Context Protocol."""
