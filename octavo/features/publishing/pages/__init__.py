"""The pages of published links."""
