"""The one list of the features of the service, and which features each one uses."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from octavo.access.ports import Clock
from octavo.actors.jobs import housekeeping
from octavo.actors.jobs.housekeeping import StepLoop
from octavo.actors.jobs.indexing import IndexingJob, renew_damaged
from octavo.features.accounts import feature as accounts
from octavo.features.administration import feature as administration
from octavo.features.archives import feature as archives
from octavo.features.files import feature as files
from octavo.features.files.api.changeset_submission import Workspaces
from octavo.features.history import feature as history
from octavo.features.images import feature as images
from octavo.features.legal import feature as legal
from octavo.features.links import feature as links
from octavo.features.mail import feature as mail
from octavo.features.mcp import feature as mcp
from octavo.features.members import feature as members
from octavo.features.notes import feature as notes
from octavo.features.oauth import feature as oauth
from octavo.features.publishing import feature as publishing
from octavo.features.search import feature as search
from octavo.features.sync import feature as sync
from octavo.features.usage import feature as usage
from octavo.http import contract
from octavo.http.pages.menus import in_order
from octavo.kernel import Feature, Kernel, Parts
from octavo.service.settings import Settings
from octavo.store import Store
from octavo.store.blobs import BlobStore, BlobsUnavailable
from octavo.store.queries import audit, expiry
from octavo.store.queries.sweeping import sweep
from octavo.store.transaction import combined

FEATURES: tuple[Feature, ...] = (
    mail.FEATURE,
    legal.FEATURE,
    usage.FEATURE,
    accounts.FEATURE,
    members.FEATURE,
    administration.FEATURE,
    images.FEATURE,
    files.FEATURE,
    links.FEATURE,
    search.FEATURE,
    sync.FEATURE,
    history.FEATURE,
    archives.FEATURE,
    publishing.FEATURE,
    oauth.FEATURE,
    mcp.FEATURE,
    notes.FEATURE,
)
"""Each uses only those before it."""

LISTENERS = combined(feature.listeners for feature in FEATURES)
"""The listeners of all features, which are called in transactions of others."""

INDEXES = tuple(index for feature in FEATURES for index in feature.indexes)

MENU = in_order(entry for feature in FEATURES for entry in feature.menu)
"""The entries of the menus of the pages."""


class Features(NamedTuple):
    """The features of a running service.

    Attributes:
        parts: what each adds to it, in the order of `FEATURES`.
        accounts, files, search, publishing: those that the service itself asks for something.
    """

    parts: tuple[Parts, ...]
    accounts: accounts.Accounts
    files: files.Files
    search: search.Search
    publishing: publishing.Publishing


def build_features(
    kernel: Kernel,
    settings: Settings,
    documents: legal.Legal,
    used: usage.Usage,
    workspaces: Workspaces,
    perform: contract.PerformAs,
) -> Features:
    """Build every feature from the kernel and the features that it uses; nothing runs yet.

    ``used`` is the feature that the actors ``workspaces`` use; ``perform`` performs an
    operation of the API.
    """
    sends = mail.mail_feature(kernel, settings)
    people = accounts.accounts_feature(kernel, settings, sends, documents, used)
    groups = members.members_feature(kernel, settings, documents, people)
    pictures = images.images_feature(kernel, settings, used)
    notes_and_images = files.files_feature(kernel, used, pictures, workspaces)
    searches = search.search_feature(kernel, used)
    published = publishing.publishing_feature(
        kernel, settings, sends, documents, used, people, pictures
    )
    programs = oauth.oauth_feature(kernel, settings, people)
    parts = (
        sends.parts,
        legal.legal_feature(kernel, documents),
        used.parts,
        people.parts,
        groups.parts,
        administration.administration_feature(kernel, used, people, groups),
        pictures.parts,
        notes_and_images.parts,
        links.links_feature(kernel),
        searches.parts,
        sync.sync_feature(kernel, used, people),
        history.history_feature(kernel, settings, used, notes_and_images, workspaces),
        archives.archives_feature(kernel, settings, documents, used, people, pictures, workspaces),
        published.parts,
        programs.parts,
        mcp.mcp_feature(settings, programs, perform),
        notes.notes_feature(kernel, published),
    )
    return Features(parts, people, notes_and_images, searches, published)


def retention_steps(settings: Settings) -> Sequence[housekeeping.RetentionStep]:
    """Return what removes expired rows of the kernel and of all features; in any order."""
    return (
        housekeeping.removal(expiry.expire_receipts, expiry.RECEIPT_DAYS),
        housekeeping.removal(expiry.expire_marks, expiry.MARK_DAYS),
        housekeeping.removal(audit.expire, settings.audit_days),
        housekeeping.removal(lambda _: audit.expire_refusals()),
        *(step for feature in FEATURES for step in feature.retention(settings)),
    )


def retention_job(store: Store, now: Clock, settings: Settings) -> housekeeping.RetentionJob:
    """Return the job that removes expired rows."""
    return housekeeping.RetentionJob(store, now, retention_steps(settings))


def indexing_job(store: Store) -> IndexingJob:
    """Return the job that updates the indexes of all features."""
    return IndexingJob(store, INDEXES)


def sweeping_job(store: Store, swept: Callable[[], None]) -> StepLoop:
    """Return the job that removes what was deleted; it calls ``swept`` when nothing is left."""
    of_features = [script for feature in FEATURES for script in feature.sweeps]
    scripts = (sweep, *of_features, audit.erase_clients)
    renew = partial(renew_damaged, store, INDEXES)
    step = partial(housekeeping.sweep_some, store, swept, scripts, renew)
    return StepLoop("removal of deleted data", step)


def blob_collection(store: Store, blobs: BlobStore, now: Clock) -> StepLoop:
    """Return the job that deletes blobs which nothing refers to any more."""
    expired = [script for feature in FEATURES for script in feature.expired_blobs]
    step = partial(housekeeping.collect_blobs, store, blobs, now, expired)
    return StepLoop("deletion of blobs", step, BlobsUnavailable)
