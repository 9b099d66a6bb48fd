"""The service as an application for any ASGI server on trio: its lifespan runs the parts."""

import os
from pathlib import Path

import trio
from antechamber.asgi import Application, Receive, Scope, Send
from greenroom import Supervisor

from octavo.access.entropy import jitter, new_id
from octavo.features.legal.feature import read_legal
from octavo.http.contract.call import Principal
from octavo.service.components import build_service
from octavo.service.features import LISTENERS
from octavo.service.readiness import ReadinessProbe
from octavo.service.settings import Settings
from octavo.service.wiring import wire_application
from octavo.store.engine import open_engine
from octavo.store.open_blobs import open_blob_folders
from tests.e2e.octavo_process import PUBLIC


class Service:
    """Runs the service for as long as its lifespan lasts."""

    def __init__(self) -> None:
        self._application: Application | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        else:
            assert self._application is not None
            await self._application(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        folder = Path(os.environ["OCTAVO_DATA_DIR"])
        settings = Settings(data_dir=folder, public_url=PUBLIC)

        async def perform(
            scope: Scope, receive: Receive, request_id: str, caller: Principal
        ) -> object:
            return await application.perform(scope, receive, request_id, caller)

        async with open_engine(settings, LISTENERS, random=jitter, serving=True) as engine:
            root = Supervisor("octavo")
            legal = await read_legal(settings)
            service = build_service(
                root,
                settings,
                engine,
                await open_blob_folders(settings, new_id()),
                legal,
                log_audit=lambda _: None,
                log_request=lambda _: None,
                perform=perform,
            )
            probe = ReadinessProbe(engine, folder, trio.Event())
            application = wire_application(service, legal, readiness=probe.look)
            self._application = application
            async with root.running():
                await application(scope, receive, send)


app = Service()
