"""A search index that purging has damaged, with an older SQLite, heals at the start."""

import uuid

from tests.e2e.databases import change
from tests.e2e.octavo_process import data_folder, run, running
from tests.e2e.people import client, settle

LEVELS = 2_100
# A structure with that many empty levels, as 1,050 erasures left it with SQLite 3.40.
WORN_OUT = f"0000000190{LEVELS & 0x7F:02x}0000" + "0000" * LEVELS


def test_damaged_index_is_made_anew_by_a_start_and_told_by_a_backup() -> None:
    with data_folder() as folder:
        with running(folder) as octavo:
            person = settle(octavo)
            with client(octavo.url, person) as http:
                workspace = http.post("/api/workspaces", json={"name": "Own"}).json()["id"]
                note = {"path": "a.md", "text": "tide", "mutationId": str(uuid.uuid4())}
                assert http.post(f"/api/workspaces/{workspace}/files", json=note).is_success
                found = http.get(f"/api/workspaces/{workspace}/search", params={"q": "tide"})
                assert len(found.json()["items"]) == 1
            assert octavo.stop() == (0, [])
        change(folder, None, f"UPDATE search_data SET block = x'{WORN_OUT}' WHERE id = 10")
        code, printed, _ = run("backup", folder, str(folder.parent / "backup"))
        assert code == 0
        assert "the search index of the database is damaged, and left out" in printed
        with running(folder) as octavo:
            with client(octavo.url, person) as http:
                again = http.get(f"/api/workspaces/{workspace}/search", params={"q": "tide"})
                assert (again.status_code, again.json()) == (200, found.json())
                assert http.get("/api/ready?detail=summary").status_code == 200
            assert octavo.stop()[0] == 0
        code, printed, _ = run("backup", folder, "--replace", str(folder.parent / "backup"))
        assert code == 0
        assert "damaged" not in printed
