"""The features of the service, each in a folder of its own.

A feature imports the kernel and the features before it.
"""

ORDER = (
    "mail",
    "legal",
    "usage",
    "accounts",
    "members",
    "administration",
    "images",
    "files",
    "links",
    "search",
    "sync",
    "history",
    "archives",
    "publishing",
    "oauth",
    "mcp",
    "notes",
)
