"""The pages of the authorization server."""
