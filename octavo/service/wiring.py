"""The application that serves every operation, page and stream of the service."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

import trio
from antechamber.asgi import Application as ASGIApplication

from octavo.access.entropy import elapsed, new_entropy, new_id, now
from octavo.access.ports import milliseconds
from octavo.features.accounts.api.authentication import AttemptLimiter
from octavo.features.legal.feature import Legal
from octavo.features.publishing.api.reader_problems import reader_problems
from octavo.http import contract
from octavo.http.lazy import LazyApplication, LazyValue
from octavo.http.pages import API_REFERENCE
from octavo.http.refusals import problem_of
from octavo.service.components import Service
from octavo.service.health import Readiness, ServiceOperations
from octavo.service.registry import ContractOperations, api_document, explained_problems
from octavo.store.fair_turns import working_for
from octavo.store.queries.signing_keys import only_secret


def wire_application(
    service: Service,
    legal: Legal,
    *,
    readiness: Callable[[], Awaitable[Readiness]],
    memory: contract.MemoryBudget | None = None,
    started: trio.Event | None = None,
) -> contract.Application:
    """Return the application that serves every operation and page under the public URL.

    ``memory`` limits the memory of large requests and responses; None means the default limit.
    The pages are loaded when ``started`` is set, or with the lifespan if it is None.
    """
    kernel, features = service.kernel, service.features
    parts = features.parts
    public_url = kernel.settings.public_url

    async def load_pages() -> ASGIApplication:
        make = partial(_pages, service, legal, application.perform)
        return await trio.to_thread.run_sync(make, abandon_on_cancel=True)

    application = contract.Application(
        [
            ServiceOperations(readiness),
            ContractOperations(LazyValue(api_document).get),
            *(operations for part in parts for operations in part.operations),
        ],
        absent={group: why for part in parts for group, why in part.absent.items()},
        new_id=new_id,
        log_request=kernel.log_request,
        authenticators={
            scheme: authenticator
            for part in parts
            for scheme, authenticator in part.authenticators.items()
        },
        rate_limiter=AttemptLimiter(kernel.attempts),
        failure_problem=problem_of,
        serving=working_for.set,
        problem_html=reader_problems(lambda: features.publishing.pages.made),
        memory=memory,
        websockets={path: route for some in parts for path, route in some.websockets.items()},
        fallback=LazyApplication(load_pages, started),
        fallback_below_api=(API_REFERENCE,),
        public_url=public_url,
        elapsed=elapsed,
    )
    return application


def _pages(service: Service, legal: Legal, perform: contract.Perform) -> ASGIApplication:
    # Quart takes a third of the time of the start.
    from octavo.http.pages.forms import FormStamps  # noqa: PLC0415
    from octavo.service.pages import pages  # noqa: PLC0415

    kernel, features = service.kernel, service.features

    async def form_secret() -> bytes:
        return await kernel.store.write(only_secret("form", new_entropy(), milliseconds(now())))

    stamps = FormStamps(form_secret, now=now, session_seconds=features.accounts.life.absolute)
    application = pages(
        api_document=ContractOperations.PATH,
        openapi=api_document,
        problems=explained_problems(),
        public_url=kernel.settings.public_url,
        legal=legal.documents,
        features=[part.pages for part in features.parts if part.pages is not None],
        perform=perform,
        now=now,
        new_entropy=new_entropy,
        stamps=stamps,
    )
    # Quart has its own types for ASGI.
    return cast(ASGIApplication, application)
