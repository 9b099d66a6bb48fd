"""Images: received, proven to be images, shown small, without personal metadata."""
