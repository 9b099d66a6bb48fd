"""The workspace actor: its messages, its planning, and the documents it works on."""
