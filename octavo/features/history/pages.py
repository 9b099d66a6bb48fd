"""Show what programs changed in a workspace, and undo it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from octavo_rules.problems import NotFound, Problem
from quart import Response

from octavo.access.ports import Clock
from octavo.features.history.api.client_changes import (
    ChangedByClient,
    ClientChangesList,
    UndoOutlookSchema,
    UndoResult,
)
from octavo.http import contract
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect, show
from octavo.http.pages.workspace_paths import LIST, path_of, workspace_of

PERIODS: Mapping[int, str] = {
    10: "The last 10 minutes",
    60: "The last hour",
    1_440: "The last day",
    10_080: "The last week",
}
"""The periods that can be undone besides everything, by their minutes."""

REASONS: Mapping[str, str] = {
    "changed_since": "Somebody has changed it since.",
    "path_taken": "Another file has its earlier path now.",
    "purged": "It was erased for good.",
}
"""Why a file is left as it is."""

_RULE = f"{HOME}/<uuid:workspace_id>/programs"


def add_program_pages(site: PageRegistry, now: Clock) -> None:
    """Serve the list of programs of a workspace, and the undo of one; ``now`` is in seconds."""

    @site.page(_RULE)
    async def show_programs(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        page = await _programs(visitor, workspace_id)
        return await show("history/programs.html", workspace=workspace, programs=page.items)

    @site.page(f"{_RULE}/undo")
    async def show_undo(visitor: Visitor, workspace_id: str) -> Response:
        return await _undo(visitor, workspace_id, visitor.query, now())

    @site.form(f"{_RULE}/undo", once=True)
    async def undo(visitor: Visitor, workspace_id: str) -> Response:
        fields = visitor.form
        body = {
            "client": fields.get("client", ""),
            "since": fields.get("since", ""),
            "accountId": fields.get("account", ""),
        }
        try:
            await visitor.api.send(UndoResult, "POST", f"{LIST}/{workspace_id}/undo", body)
        except Problem as problem:
            return await _undo(visitor, workspace_id, fields, now(), form_errors_of(problem))
        return redirect(f"{path_of(workspace_id)}/programs", "changes-undone")


async def _programs(visitor: Visitor, workspace_id: str) -> ClientChangesList:
    return await visitor.api.get(ClientChangesList, f"{LIST}/{workspace_id}/clients")


async def _undo(
    visitor: Visitor,
    workspace_id: str,
    asked: Mapping[str, str],
    now: float,
    trouble: FormErrors | None = None,
) -> Response:
    workspace = await workspace_of(visitor, workspace_id)
    programs = await _programs(visitor, workspace_id)
    program = _named(programs, asked)
    everything = contract.written_time(max(program.first_at, programs.undoable_since))
    since = asked.get("since", "")
    if not _is_time(since):
        since = everything
    query = {"client": program.client, "accountId": program.account_id, "since": since}
    outlook = None
    try:
        outlook = await visitor.api.get(UndoOutlookSchema, f"{LIST}/{workspace_id}/undo", **query)
    except NotFound:
        raise
    except Problem as problem:
        trouble = trouble or form_errors_of(problem)
    return await show(
        "history/undo.html",
        trouble=trouble,
        workspace=workspace,
        program=program,
        outlook=outlook,
        since=since,
        periods=_periods(program, everything, now),
        reasons=REASONS,
    )


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _named(programs: ClientChangesList, asked: Mapping[str, str]) -> ChangedByClient:
    """Return the program that a request names. Raises `NotFound`."""
    for program in programs.items:
        if (program.client, program.account_id) == (asked.get("client"), asked.get("account")):
            return program
    raise NotFound("This program has changed nothing here that is still in the history.")


def _periods(program: ChangedByClient, everything: str, now: float) -> list[tuple[str, str, str]]:
    """Return what can be undone: for each period the query of its page, its start, and its name."""
    moment = datetime.fromtimestamp(now, UTC).replace(microsecond=0)
    times = [
        ((moment - timedelta(minutes=minutes)).isoformat().replace("+00:00", ".000Z"), name)
        for minutes, name in PERIODS.items()
    ]
    shown = [(time, name) for time, name in times if time > everything]
    return [
        (
            urlencode({"client": program.client, "account": program.account_id, "since": time}),
            time,
            name,
        )
        for time, name in (*shown, (everything, "Everything"))
    ]
