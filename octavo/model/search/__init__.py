"""Full-text search: tokens of texts, parsing of queries, and ranking of results."""

from octavo.model.search.hits import Finder, finders_of
from octavo.model.search.query import (
    ANY_HEAD,
    MAX_TOKENS,
    Clause,
    HeadFilter,
    InvalidQuery,
    Query,
    parse_query,
)
from octavo.model.search.ranking import Candidate, Ranked, ranked
from octavo.model.search.searched_text import SearchedText, title_of
from octavo.model.search.snippets import Snippet, snippets_of
from octavo.model.search.tokens import tokens_of

__all__ = [
    "ANY_HEAD",
    "MAX_TOKENS",
    "Candidate",
    "Clause",
    "Finder",
    "HeadFilter",
    "InvalidQuery",
    "Query",
    "Ranked",
    "SearchedText",
    "Snippet",
    "finders_of",
    "parse_query",
    "ranked",
    "snippets_of",
    "title_of",
    "tokens_of",
]
