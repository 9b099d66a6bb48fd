"""Use cases of published links: create and revoke them, read through them, report them.

Nothing is imported here: `octavo.features.publishing.views` alone is loaded by the pages.
"""
