"""The part of the service that lists links between notes."""

from octavo.features.links.api import LinkOperations
from octavo.features.links.sql.link_index import LINKS, remove_links, remove_some_links
from octavo.kernel import Feature, Kernel, Parts
from octavo.store.transaction import Listeners

FEATURE = Feature(
    "links",
    operations=[LinkOperations],
    listeners=Listeners(files_purged=[remove_links], workspace_sweeping=[remove_some_links]),
    indexes=[LINKS],
)


def links_feature(kernel: Kernel) -> Parts:
    """Return the feature."""
    return Parts(operations=[LinkOperations(kernel.store, kernel.access)])
