"""kopf's handlers: settings, login and one event handler for each watched kind. An event only enqueues keys.

See decision 21 for the work that the controller does without kopf.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import kopf

from topicschema.api.kinds import Kind
from topicschema.reconcile.runtime.event_router import EventRouter


def handlers(
    kinds: Iterable[Kind], router: EventRouter, session: Callable[[], kopf.AiohttpSession], watch_timeout: float
) -> kopf.OperatorRegistry:
    """Return the handlers of one watch. `session` gives kopf a connection; `watch_timeout` is in seconds."""
    registry = kopf.OperatorRegistry()

    @kopf.on.startup(registry=registry)
    async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False
        settings.scanning.disabled = True
        settings.queueing.idle_timeout = 0.1  # a handler only enqueues: kopf's task for an object can end at once
        settings.watching.inactivity_timeout = 70.0  # bookmarks come every minute: less would reconnect all the time
        settings.watching.connect_timeout = 5.0
        settings.watching.server_timeout = max(1, int(watch_timeout / 3))  # a quiet watch that lives counts as activity
        settings.networking.request_timeout = 30.0
        settings.networking.connect_timeout = 5.0
        logging.getLogger("kopf").setLevel(logging.WARNING)

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return session()

    for kind in kinds:

        @kopf.on.event(kind.group, kind.version, kind.plural, registry=registry, id=kind.plural)
        async def enqueue(type: str | None, body: kopf.Body, plural: str = kind.plural, **_: Any) -> None:  # noqa: A002 - kopf's word
            router.on_event(plural, body["metadata"], is_deleted=type == "DELETED", is_listed=type is None)

    return registry
