"""The templates of pages, and what all of them use: the account, the message, times and sizes.

A macro refers to the context in which it was defined, and the context to its macros. What a page
shows, such as the text of a long note, would stay in memory until the garbage collector searches
all objects, which is rare in a server. So templates keep nothing of a page once it is rendered.
"""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from datetime import datetime
from typing import Any, cast

import jinja2
from antechamber.asgi import Scope
from babel import Locale
from jinja2.runtime import Context
from octavo_rules.problems import Header
from octavo_rules.schemas import Workspace
from quart import Response, g, request
from quart_trio import QuartTrio

from octavo.access.ports import Clock
from octavo.http.account_schemas import AccountSchema
from octavo.http.pages.localized import When, device_name, number, preferred_locale, size, when
from octavo.http.pages.menus import MenuEntry, MenuLink, Place, Viewer, links_of
from octavo.http.pages.responses import cleared_message, has_message, message_of
from octavo.http.pages.usage import advised
from octavo.model.workspace import grants, may_change_role

_CONTEXTS = "contexts_of_this_page"


class _Context(Context):
    def __init__(
        self,
        environment: jinja2.Environment,
        parent: dict[str, Any],
        name: str | None,
        blocks: dict[str, Callable[[Context], Iterator[str]]],
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002  # passed by this name
    ) -> None:
        super().__init__(environment, parent, name, blocks, globals)
        # The contexts of blocks and of included templates get the variables, too.
        contexts = parent.get(_CONTEXTS)
        if contexts is not None:
            contexts.append(self)


class _Template(jinja2.Template):
    def render(self, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401  # any variables
        contexts: list[Context] = []
        try:
            return super().render(*args, **kwargs, **{_CONTEXTS: contexts})
        finally:
            for context in contexts:
                context.parent.clear()
                context.vars.clear()


def forget_pages(environment: jinja2.Environment) -> None:
    """Let the templates of ``environment``, of which none is loaded yet, keep nothing of a page."""
    environment.template_class = _Template
    environment.context_class = _Context


def add_frame(app: QuartTrio, now: Clock, entries: Sequence[MenuEntry]) -> None:
    """Provide the names that the templates use.

    ``now`` is in seconds of Unix time, ``entries`` are those of all menus, in order.
    """

    @app.context_processor
    async def provide() -> dict[str, object]:
        context = {**for_everybody(), "same_for_all": False}
        context["message"] = message_of(_headers())
        context["query"] = request.args
        account: AccountSchema | None = g.get("account")
        if account is not None:
            preferences = account.preferences
            context["account"] = account
            context["theme"] = {
                "family": preferences.theme_family,
                "appearance": preferences.appearance,
            }
        return context

    @app.after_request
    async def end_message(response: Response) -> Response:
        if has_message(_headers()) and response.status_code < 300:
            name, value = cleared_message()
            response.headers.add(name.decode(), value.decode())
        return response

    def locale() -> Locale:
        return preferred_locale(request.headers.get("accept-language", ""))

    def shown_when(time: datetime | str) -> When:
        return when(time, now(), locale())

    def shown_size(count: int) -> str:
        return size(count, locale())

    def shown_number(count: int) -> str:
        return number(count, locale())

    def is_past(time: datetime) -> bool:
        return time.timestamp() <= now()

    @jinja2.pass_context
    def menu(context: Context, place: Place) -> list[MenuLink]:
        account: AccountSchema | None = context.get("account")
        workspace: Workspace | None = context.get("workspace")
        viewer = Viewer(
            None if account is None else account.role,
            None if workspace is None else workspace.role,
            context.get("tab", ""),
            app.jinja_env.globals,
        )
        return links_of(entries, place, viewer, "" if workspace is None else workspace.id)

    app.jinja_env.globals.update(
        menu=menu,
        when=shown_when,
        size=shown_size,
        number=shown_number,
        advised=advised,
        is_past=is_past,
        device_name=device_name,
        may=grants,
        may_change_role=may_change_role,
    )


def for_everybody() -> dict[str, object]:
    """Return the names of the frame for a page that is the same for everybody."""
    return {"account": None, "theme": None, "message": None, "same_for_all": True}


def _headers() -> Sequence[Header]:
    # Quart has its own ASGI types.
    headers: Sequence[Header] = cast(Scope, request.scope)["headers"]
    return headers
