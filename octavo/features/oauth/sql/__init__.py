"""The transaction scripts of the authorization server."""
