"""The pages of legal documents."""
