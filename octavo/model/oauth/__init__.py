"""The rules of the authorization server: clients, authorization requests, grants and tokens."""
