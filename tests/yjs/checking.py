"""Updates decided about as the service does, with the state of the document at hand."""

from octavo.model.document_facts import facts_at_sight
from octavo.model.document_update import CheckedUpdate, check_update
from octavo.model.state_vector import StateVector


def decided(update: bytes, have: StateVector, state: bytes) -> CheckedUpdate:
    """What `check_update` says of an update to the document that ``state`` makes."""
    return check_update(update, have, lambda: state, facts_at_sight(state))
