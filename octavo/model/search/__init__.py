"""Words of texts, and queries for them."""
