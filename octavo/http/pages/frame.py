"""What the templates of all pages use: the account, the message, times and sizes."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from antechamber.asgi import Scope
from babel import Locale
from octavo_rules.problems import Header
from quart import Response, g, request
from quart_trio import QuartTrio

from octavo.access.ports import Clock
from octavo.features.accounts.api.account import AccountSchema
from octavo.features.accounts.pages.usage import advised
from octavo.http.pages.localized import When, device_name, number, size, when
from octavo.http.pages.messages import cleared_message, has_message, message_of
from octavo.http.pages.preferences import preferred_locale
from octavo.model.workspace import grants, may_change_role


def add_frame(app: QuartTrio, now: Clock) -> None:
    """Provide the names that the templates use; ``now`` is in seconds of Unix time."""

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

    app.jinja_env.globals.update(
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
    found: Sequence[Header] = cast(Scope, request.scope)["headers"]
    return found
