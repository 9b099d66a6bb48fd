"""HTTP/1.1 on one connection: heads, bodies, exchanges, upgrades."""
