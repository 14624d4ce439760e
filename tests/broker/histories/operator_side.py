"""The operator's response to an edit: server-side apply, the webhook's review or none, and reconciles until it settles.

All of it is the product's own code in this process, between a real API server and a real broker.
"""

import json
import re
import secrets
import time
from asyncio import sleep
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from typing import Any, Final

from support.kubernetes.watched_namespace import conditions
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.reconciler_process import Process, process
from testbed.product import NAMESPACE as SYSTEM
from topicschema.admission import review
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.broker.clock import Clock
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.cluster.errors import ApiRefusedError, NotFoundError
from topicschema.core.compatibility import Incompatibility
from topicschema.core.strategies import Direction
from topicschema.judging.judge import Judge
from topicschema.reconcile.brokers import Brokers
from topicschema.settings import WebhookSettings
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.webhook.server import Reviewer, reviewers

_HASTE: Final = 100.0
HASTY: Final = Clock(lambda: time.monotonic() * _HASTE, lambda seconds: sleep(seconds / _HASTE))
"""A clock with a hundred times the request rate of a broker in use."""
_RULE: Final = re.compile(r"([A-Z][A-Z0-9_]+)(?: at |: )")
"""The rule with which a sentence of the webhook begins."""


@dataclass(frozen=True, slots=True)
class Ours:
    """The operator's response: the version of an edit, or the rules by which it is refused.

    `reason` is that of the status or of the review. A refusal without one is the API server's, by the CRD.
    `incompatibilities` are those of a status.
    """

    version: int | None = None
    reason: str = ""
    rules: tuple[str, ...] = ()
    incompatibilities: tuple[Incompatibility, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class OperatorSide:
    """One Kubernetes namespace with the process that reconciles it."""

    shop: BrokeredShop
    running: Process
    reviewer: Reviewer

    async def put(self, name: str, spec: dict[str, Any], *, is_reviewed: bool) -> Ours:
        """Apply the spec and return the response. Nothing is stored if the review refuses it."""
        applied = self.shop.watched.topic("", name)
        applied["spec"] = {"topic": applied["spec"]["topic"], **spec}
        if is_reviewed:
            refused = await self._review(applied)
            if refused is not None:
                return refused
        client, namespace = self.shop.watched.shop.client, self.shop.watched.namespace
        try:
            await client.apply(TOPIC_SCHEMA, namespace, name, applied, field_manager="git")
        except ApiRefusedError as error:
            return Ours(text=error.message)
        ours = await self.settled(name)
        is_contrary = is_reviewed and ours.version is None
        return replace(ours, reason=f"admitted, and then {ours.reason}") if is_contrary else ours

    async def settled(self, name: str) -> Ours:
        """Return the response of the status once reconciles change nothing more."""
        await self.running.settle(name)
        wire = await self.shop.watched.get(name)
        status = wire["status"]
        ready = conditions(status)["Ready"]
        if ready["status"] == "True":
            return Ours(status["schemaVersion"], ready["reason"], text=ready["message"])
        incompatibilities = tuple(
            Incompatibility(
                each["rule"],
                each["path"],
                each["message"],
                Direction(each["direction"]) if each.get("direction") else None,
                each.get("schemaVersion"),
            )
            for each in status.get("incompatibilities", ())
        )
        return Ours(
            None, ready["reason"], tuple(each.rule for each in incompatibilities), incompatibilities, ready["message"]
        )

    async def _review(self, applied: dict[str, Any]) -> Ours | None:
        """Review the edit. Return the refusal, or None if it is admitted."""
        try:
            old = await self.shop.watched.get(applied["metadata"]["name"])
        except NotFoundError:
            old = {}
        metadata = {"uid": secrets.token_hex(8), **old.get("metadata", {}), **applied["metadata"]}
        request = {
            "uid": secrets.token_hex(8),
            "kind": {"group": TOPIC_SCHEMA.group, "version": TOPIC_SCHEMA.version, "kind": TOPIC_SCHEMA.name},
            "operation": "UPDATE" if old else "CREATE",
            "namespace": self.shop.watched.namespace,
            "name": applied["metadata"]["name"],
            "object": {**old, **applied, "metadata": metadata},
            "oldObject": old or None,
        }
        answer = await self.reviewer(review.read({"request": request}, len(json.dumps(request))))
        if answer.is_allowed:
            return None
        texts = [cause.message for cause in answer.causes]
        rules = tuple(match[1] for match in map(_RULE.match, texts) if match)
        return Ours(None, answer.reason, rules, text="; ".join(texts))


@asynccontextmanager
async def operating(shops: list[BrokeredShop]) -> AsyncIterator[list[OperatorSide]]:
    """Run one controller and one webhook for all the namespaces, whose policies it reconciles first."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(process(shops[0].watched))
        client = first.ctx.client
        brokers = Brokers(client, AllowedHosts.parse("127.0.0.1"), lambda: None, HASTY)
        stack.push_async_callback(brokers.aclose)
        ctx = replace(first.ctx, brokers=brokers)
        storage = KubernetesStorage(client, SYSTEM)
        judge = stack.enter_context(closing(Judge(storage)))
        reviewer = reviewers(client, judge, storage, WebhookSettings.load({}))[TOPIC_SCHEMA.name]
        sides = [
            OperatorSide(shop, replace(first, namespace=shop.watched.namespace, ctx=ctx), reviewer) for shop in shops
        ]
        for side in sides:
            await side.running.govern()
        assert first.errors == []
        yield sides
