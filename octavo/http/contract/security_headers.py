"""The security headers of every response, as ASGI headers.

They do not depend on the connection: ``strict-transport-security`` is up to the TLS terminator.
"""

Headers = tuple[tuple[bytes, bytes], ...]

# The declared media type applies, whatever the bytes look like (Fetch, section 3.6).
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
# No other site may embed the response, which also protects it from speculative side channels
# (Fetch, section 3.7).
_NO_EMBEDDING = (b"cross-origin-resource-policy", b"same-origin")

API_HEADERS: Headers = (
    _NO_SNIFFING,
    _NO_EMBEDDING,
    # Data is not a document: opened in a tab, it loads nothing and cannot be framed (Content
    # Security Policy 3, sections 6.1.1 and 6.4.2).
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    # API addresses contain identifiers (Referrer Policy, section 3.1).
    (b"referrer-policy", b"no-referrer"),
)
"""The headers of every API response: JSON, problems, streams."""

PAGE_HEADERS: Headers = (
    _NO_SNIFFING,
    _NO_EMBEDDING,
    # No scripts at all, so injected markup cannot execute. Style sheets and images come from this
    # installation only, forms submit only to it, and neither <base> nor frames are allowed (Content
    # Security Policy 3, section 6).
    (
        b"content-security-policy",
        (
            b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
            b"base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
    # Not no-referrer, under which browsers submit forms with "origin: null" (Fetch, append a
    # request Origin header), which fails every origin check. Other sites receive nothing under
    # either policy.
    (b"referrer-policy", b"same-origin"),
    # Windows of other sites get no handle on this one (HTML, cross-origin opener policies).
    (b"cross-origin-opener-policy", b"same-origin"),
)
"""The headers of every HTML page and of its resources."""

READING_HEADERS: Headers = (
    *(header for header in PAGE_HEADERS if header[0] != b"referrer-policy"),
    # The address is the secret that opens the page. Its forms are accepted from any origin.
    (b"referrer-policy", b"no-referrer"),
    (b"x-robots-tag", b"noindex"),
)
"""The headers of the pages that readers of published links get."""
