"""The part of the service that lists links between notes."""

from octavo.features.links.api import LinkOperations
from octavo.kernel import Feature, Kernel, Parts

FEATURE = Feature("links")


def links_feature(kernel: Kernel) -> Parts:
    """Return the feature."""
    return Parts(operations=[LinkOperations(kernel.store, kernel.access)])
