"""Full-text search: tokens of texts, parsing of queries, and ranking of results."""

from octavo.features.search.rules.hits import Finder, finders_of
from octavo.features.search.rules.ranking import Candidate, Ranked, ranked
from octavo.features.search.rules.snippets import Snippet, snippets_of
from octavo.model.search.query import (
    ANY_HEAD,
    MAX_TOKENS,
    Clause,
    HeadFilter,
    InvalidQuery,
    Query,
    parse_query,
)
from octavo.model.search.searched_text import SearchedText, title_of
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
