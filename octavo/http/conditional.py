"""Conditional reads: the header ``if-none-match``."""

from octavo_rules.problems import InvalidRequest

from octavo.http import contract
from octavo.http.fields import KnownHeads
from octavo.model.etag import parse_entity_tags


class IfNoneMatch(contract.HeaderModel):
    """The versions that the client has."""

    if_none_match: KnownHeads | None = None
    """Entity tags, or ``*``: if one matches, the response is a 304 without content."""

    def names(self, opaque: str) -> bool:
        """Return whether the client has the version with the entity tag ``opaque``.

        It has none without the header. Raises `InvalidRequest` for a header that is not a list of
        entity tags.
        """
        if self.if_none_match is None:
            return False
        # As nearly every client sends it.
        if self.if_none_match == f'"{opaque}"':
            return True
        try:
            return parse_entity_tags(self.if_none_match).names_weakly(opaque)
        except ValueError as error:
            raise InvalidRequest(errors=[("/headers/if-none-match", f"This {error}.")]) from None
