"""Links between the files of a workspace: found in Markdown, resolved, and kept when files move."""

from octavo.model.links.extraction import Link, links_of
from octavo.model.links.headings import Heading, has_heading, headings_of
from octavo.model.links.link_rewrite import rewrite_links
from octavo.model.links.resolution import keys_of_link, keys_of_path, place_rank, places_of, resolve

__all__ = [
    "Heading",
    "Link",
    "has_heading",
    "headings_of",
    "keys_of_link",
    "keys_of_path",
    "links_of",
    "place_rank",
    "places_of",
    "resolve",
    "rewrite_links",
]
