"""The transaction scripts of images."""
