"""HTTP/2 on one connection: hypercorn's protocol within the limits of this server."""
