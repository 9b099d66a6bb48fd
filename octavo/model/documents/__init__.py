"""Check updates of documents, and estimate the cost of loading documents."""
