"""The operations of the authorization server."""
