"""Conditional reads: the header ``if-none-match``."""

from octavo.http.api.fields import KnownHeads
from octavo.http.contract.contract_model import HeaderModel
from octavo.http.contract.problems import InvalidRequest
from octavo.model.etag import EntityTags, parse_entity_tags


class IfNoneMatch(HeaderModel):
    """The versions that the client has."""

    if_none_match: KnownHeads | None = None
    """Entity tags, or ``*``: if one matches, the response is a 304 without content."""

    @property
    def tags(self) -> EntityTags:
        """The entity tags; without the header, none. Raises `InvalidRequest`."""
        if self.if_none_match is None:
            return EntityTags(())
        try:
            return parse_entity_tags(self.if_none_match)
        except ValueError as error:
            raise InvalidRequest(errors=[("/headers/if-none-match", f"This {error}.")]) from None
