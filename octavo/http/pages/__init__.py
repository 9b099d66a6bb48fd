"""The pages of this installation: HTML without script, for people, served by Quart.

What stands here is no part of the contract; the contract's application hands over every path
that it does not know.
"""

from octavo.http.pages.application import API_REFERENCE, Explained, pages

__all__ = ["API_REFERENCE", "Explained", "pages"]
