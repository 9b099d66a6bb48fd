"""Rules that the service and its clients share: identities, texts, differences and documents.

Nothing here does I/O.
"""
