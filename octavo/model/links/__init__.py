"""Links between files of a workspace: found in Markdown, resolved, and rewritten after moves."""

from octavo.model.links.extraction import Link, links_of
from octavo.model.links.headings import Heading, has_heading, headings_of
from octavo.model.links.link_rewrite import rewrite_links
from octavo.model.links.resolution import (
    keys_of_link,
    keys_of_path,
    paths_by_key,
    place_rank,
    resolve,
)

__all__ = [
    "Heading",
    "Link",
    "has_heading",
    "headings_of",
    "keys_of_link",
    "keys_of_path",
    "links_of",
    "paths_by_key",
    "place_rank",
    "resolve",
    "rewrite_links",
]
