"""Full text search: what words a text has, what a query asks for, and what answers it best."""

from octavo.model.search.query import MOST_TOKENS, Clause, InvalidQuery, Query, parse_query
from octavo.model.search.ranking import Candidate, Ranked, ranked, title_of
from octavo.model.search.snippets import Snippet, snippets_of
from octavo.model.search.tokens import tokens_of

__all__ = [
    "MOST_TOKENS",
    "Candidate",
    "Clause",
    "InvalidQuery",
    "Query",
    "Ranked",
    "Snippet",
    "parse_query",
    "ranked",
    "snippets_of",
    "title_of",
    "tokens_of",
]
