"""Decide about updates as the service does, with the state of the document at hand."""

from octavo_rules.documents.encoding import StateVector
from octavo_rules.documents.structs import facts_at_sight

from octavo.model.documents.update_check import CheckedUpdate, check_update


def decided(update: bytes, have: StateVector, state: bytes) -> CheckedUpdate:
    """The decision of `check_update` on an update to the document that ``state`` makes."""
    return check_update(update, have, lambda: state, facts_at_sight(state))
