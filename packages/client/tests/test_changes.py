"""The JSON form of the operations of a changeset."""

from octavo_client.changes import (
    Attach,
    Create,
    Delete,
    Operation,
    Purge,
    Restore,
    Save,
    Update,
    encoded,
)
from octavo_rules.identity import Epoch, FileId, RevisionId

FILE, HEAD = FileId("file"), RevisionId("head")


def test_members_that_are_not_set_are_left_out() -> None:
    assert encoded([Update(FILE, HEAD), Restore(FILE, HEAD), Attach(FILE, "object", "a.png")]) == [
        {"op": "update", "fileId": "file", "ifMatch": "head"},
        {"op": "restore", "fileId": "file", "ifMatch": "head"},
        {"op": "attach", "fileId": "file", "objectId": "object", "path": "a.png"},
    ]


def test_every_member_that_is_set_is_sent() -> None:
    earlier = RevisionId("earlier")
    operations: list[Operation] = [
        Create(FILE, "a.md", ""),
        Update(FILE, HEAD, text="", path="b.md", rewrite_links=True),
        Save(FILE, Epoch("epoch"), b"\0"),
        Delete(FILE, HEAD),
        Restore(FILE, HEAD, path="b.md", revision_id=earlier, rewrite_links=True),
        Attach(FILE, "object", "a.png", HEAD),
        Purge(FILE),
    ]
    of_file = {"fileId": "file"}
    of_head = {**of_file, "ifMatch": "head"}
    assert encoded(operations) == [
        {"op": "create", **of_file, "path": "a.md", "text": ""},
        {"op": "update", **of_head, "text": "", "path": "b.md", "rewriteLinks": True},
        {"op": "save", **of_file, "epoch": "epoch", "update": "AA=="},
        {"op": "delete", **of_head},
        {
            "op": "restore",
            **of_head,
            "path": "b.md",
            "revisionId": "earlier",
            "rewriteLinks": True,
        },
        {"op": "attach", **of_head, "objectId": "object", "path": "a.png"},
        {"op": "purge", **of_file},
    ]
