"""What every answer tells a browser to keep away from, built once as ASGI headers.

Nothing here rests on the connection: ``strict-transport-security`` is said by whoever ends TLS.
"""

Headers = tuple[tuple[bytes, bytes], ...]

# The media type that is declared counts, whatever the bytes look like (Fetch, section 3.6).
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
# No other site may load the answer as a part of itself, which also keeps it out of reach of
# speculative side channels (Fetch, section 3.7).
_NO_EMBEDDING = (b"cross-origin-resource-policy", b"same-origin")

API_HEADERS: Headers = (
    _NO_SNIFFING,
    _NO_EMBEDDING,
    # Data is no document: opened in a tab, it loads nothing and is framed by nobody
    # (Content Security Policy 3, sections 6.1.1 and 6.4.2).
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    # Addresses of the API carry identifiers (Referrer Policy, section 3.1).
    (b"referrer-policy", b"no-referrer"),
)
"""The headers of every answer for programs: JSON, problems, streams."""

PAGE_HEADERS: Headers = (
    _NO_SNIFFING,
    _NO_EMBEDDING,
    # No script at all, so text that slips through as markup stays text. The style sheet and
    # images are this installation's own, a form goes nowhere else, and neither a <base> nor a
    # frame changes what a reader believes to look at (Content Security Policy 3, section 6).
    (
        b"content-security-policy",
        (
            b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
            b"base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
    # Not no-referrer: under that policy the form of a page is sent with "origin: null" (Fetch,
    # append a request Origin header), which no check of the origin lets pass. To other sites
    # both policies tell nothing.
    (b"referrer-policy", b"same-origin"),
    # A window of another site keeps no handle on this one (HTML, cross-origin opener policies).
    (b"cross-origin-opener-policy", b"same-origin"),
)
"""The headers of every HTML page and of what it loads."""
