"""The operations of published links."""
