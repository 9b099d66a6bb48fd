"""HTTP/2 on one connection (RFC 9113): frames, streams, header compression, and their limits."""
