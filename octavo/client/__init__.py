"""A typed client for trio programs: sign in, push, pull, documents, notices."""
