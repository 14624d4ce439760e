"""All breakages gone through side by side: one controller, one webhook, one broker, and a way to it for each breakage.

Each has a Kubernetes namespace with a policy and four topics: one that is left alone, one that is edited while the
broker is broken, one that is new then, and one that is deleted then. Nothing is asserted here: what was seen is kept.
"""

import asyncio
import json
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from support.kubernetes.reviewed_namespace import Shop
from support.kubernetes.watched_namespace import CONTROLLER, WatchedShop, conditions, record_key
from support.pulsar.breakage_scene import (
    EDITED,
    FRESH,
    KEPT,
    LEAVING,
    ROLES,
    Scene,
    Wire,
    are_well,
    is_newest,
    says_yes,
)
from support.pulsar.breakages import BREAKAGES, Certificates
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import CLASHING, ONE, TWO
from support.pulsar.refused_edits import editing
from support.sizes import IS_FULL, sized
from testbed import audit
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.product import NAMESPACE as SYSTEM
from testbed.pulsar import Pulsar
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA, Kind
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import Connection
from topicschema.core.history import History
from topicschema.storage.record import RecordStorage

MINUTE = 60.0
EDITS = sized(2, 6)
"""How many incompatible edits of each topic that is left alone are tried meanwhile: one in ten seconds."""
_GAP = 10.0
_TOLD_SECONDS = 180.0
_RECOVERY_SECONDS = 330.0  # what waits for more than its broker's return is tried again within five minutes
_SETUP_SECONDS = 180.0
_EACH = 0.5

_IsWell = Callable[["Scene", Mapping[str, Wire]], bool]


@dataclass(frozen=True, slots=True)
class Course:
    """All scenes, and what they share."""

    cluster: Cluster
    client: ApiClient
    certificates: Certificates
    scenes: tuple[Scene, ...]

    async def run(self) -> None:
        """Set up, break, look until all is told, or for a minute, mend, wait until all is well, and look once more."""
        await self._set_up()
        await self._break()
        await self._mend()
        self._look_again()
        for scene in self.scenes:
            await self._compare(scene)

    async def _set_up(self) -> None:
        self._apply([wire for scene in self.scenes for wire in scene.surroundings(self.certificates)])
        for scene in self.scenes:
            scene.shop.make_namespace()
        self._apply([scene.resource(role, ONE) for scene in self.scenes for role in (KEPT, EDITED, LEAVING)])
        await self._until(lambda _, found: are_well(found, {KEPT: 0, EDITED: 0, LEAVING: 0}))
        await self._until(lambda _, found: says_yes(found.get("orders", {})), kind=NAMESPACE_SCHEMA_POLICY)
        for scene in self.scenes:
            scene.before = await self._records(scene)

    async def _break(self) -> None:
        began = time.monotonic()
        for scene in self.scenes:
            scene.shop.proxy.forget()
            scene.breakage.begin(scene.shop.proxy, self.certificates)
        self._apply([wire for scene in self.scenes for wire in _changes(scene)])
        for scene in self.scenes:
            await self.client.delete(TOPIC_SCHEMA, scene.namespace, LEAVING)
        async with editing(Connection.load(str(self.cluster.kubeconfig))) as edits, asyncio.TaskGroup() as group:
            now = time.monotonic()
            for turn, scene in enumerate(self.scenes):  # one after the other, never all at once
                moments = [now + _GAP * (number + turn / len(self.scenes)) for number in range(EDITS)]
                group.create_task(edits.repeat(scene.resource(KEPT, CLASHING), moments, scene.edits))
            while not self._is_over(began):
                await self._look()
                await asyncio.sleep(_EACH)
        for scene in self.scenes:
            scene.calls = [call for call in scene.shop.proxy.calls if call.when < began + MINUTE]
            scene.connections = scene.shop.proxy.connections
        await asyncio.gather(*map(self._keep, self.scenes))

    def _is_over(self, began: float) -> bool:
        """Whether a minute is over, in which requests are counted; in a sample, whether all is told."""
        passed = time.monotonic() - began
        return passed > MINUTE if IS_FULL else passed > _TOLD_SECONDS or all(scene.is_told for scene in self.scenes)

    async def _look(self) -> None:
        """Keep what is told now, and what is told of a generation that the broker cannot have."""
        found, policies = await self._found(), await self._found(NAMESPACE_SCHEMA_POLICY)
        for scene in self.scenes:
            if IS_FULL or not scene.is_told:
                scene.told = found.get(scene.namespace, {})
                scene.policy = policies.get(scene.namespace, {}).get("orders", {})
            for role in (EDITED, FRESH, LEAVING):
                wire = found.get(scene.namespace, {}).get(role, {"metadata": {"generation": None}})
                scene.yes |= {
                    f"{role}: {kind} {condition['reason']}"
                    for kind, condition in conditions(wire.get("status", {})).items()
                    if kind in {"Ready", "Registered"} and condition["status"] == "True" and is_newest(wire, condition)
                }

    async def _keep(self, scene: Scene) -> None:
        """What broker and record have while the breakage lasts."""
        scene.during = await self._records(scene)
        scene.stored = {role: scene.topic(role).rest.index() for role in ROLES}

    async def _mend(self) -> None:
        began = time.monotonic()
        for scene in self.scenes:
            scene.breakage.end(scene.shop.proxy, self.certificates)

        def is_well(scene: Scene, found: Mapping[str, Wire]) -> bool:
            well = LEAVING not in found and are_well(found, {KEPT: 0, EDITED: 1, FRESH: 0})
            if well and scene.recovered is None:
                scene.recovered = time.monotonic() - began
            return well

        with suppress(TimeoutError):
            await self._until(is_well, _RECOVERY_SECONDS)
        found = await self._found()
        for scene in self.scenes:
            scene.after = found.get(scene.namespace, {})

    def _look_again(self) -> None:
        """Have each topic passed over, with nothing to do."""
        log = self.cluster.audit_log
        assert log is not None
        since = audit.settled(log)
        for scene in self.scenes:
            scene.shop.proxy.forget()
        roles = {KEPT: ONE, EDITED: TWO, FRESH: ONE}
        self._apply(
            [scene.resource(role, text, looked="anew") for scene in self.scenes for role, text in roles.items()]
        )
        wanted = {(scene.namespace, role) for scene in self.scenes for role in roles}
        for _ in range(60):
            seen = audit.requests(log, since, CONTROLLER)
            if wanted <= {(one.namespace, one.name) for one in seen if one.resource == TOPIC_SCHEMA.plural}:
                break
            time.sleep(_EACH)
        audit.settled(log)
        written = audit.writes(log, since, CONTROLLER)
        for scene in self.scenes:
            records = {record_key(scene.shop.watched, role).history_name for role in ROLES}
            scene.rewritten = [
                *(f"{one.verb} {one.resource} {one.name}" for one in written if _is_of(one, scene, records)),
                *map(str, scene.shop.proxy.writes),
            ]

    async def _compare(self, scene: Scene) -> None:
        """What broker and record have in the end, or why they do not agree, and what the deleted topic left behind."""
        roles = (KEPT, EDITED, FRESH)
        found = await asyncio.gather(*(scene.topic(role).agree() for role in roles), return_exceptions=True)
        scene.agreed = dict(zip(roles, found, strict=True))
        scene.left = scene.topic(LEAVING).rest.index()
        stored = await RecordStorage(self.client, SYSTEM).get_history(record_key(scene.shop.watched, LEAVING))
        scene.is_forgotten = not stored.revision

    async def _records(self, scene: Scene) -> dict[str, History]:
        storage = RecordStorage(self.client, SYSTEM)
        keys = {role: record_key(scene.shop.watched, role) for role in ROLES}
        return {role: (await storage.get_history(key)).history for role, key in keys.items()}

    async def _found(self, kind: Kind = TOPIC_SCHEMA) -> dict[str, dict[str, Wire]]:
        """All objects of the kind, by namespace and name."""
        found: dict[str, dict[str, Wire]] = {}
        for wire in await self.client.list(kind):
            found.setdefault(wire["metadata"]["namespace"], {})[wire["metadata"]["name"]] = wire
        return found

    async def _until(self, is_well: _IsWell, seconds: float = _SETUP_SECONDS, kind: Kind = TOPIC_SCHEMA) -> None:
        async with asyncio.timeout(seconds):
            while True:
                found = await self._found(kind)
                well = [is_well(scene, found.get(scene.namespace, {})) for scene in self.scenes]
                if all(well):
                    return
                await asyncio.sleep(_EACH)

    def _apply(self, wires: Sequence[Wire]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(wires)})
        self.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)


def _changes(scene: Scene) -> Iterator[Wire]:
    yield scene.resource(KEPT, ONE, looked="while-broken")
    yield scene.resource(EDITED, TWO)
    yield scene.resource(FRESH, ONE)


def _is_of(request: audit.Request, scene: Scene, records: set[str]) -> bool:
    if request.resource == TOPIC_SCHEMA.plural:
        return request.namespace == scene.namespace
    return any(request.name.startswith(record) for record in records)


@contextmanager
def opened(cluster: Cluster, client: ApiClient, pulsar: Pulsar, certificates: Certificates) -> Iterator[Course]:
    """The course, with a proxy and a namespace for each breakage; the namespaces are deleted afterwards."""
    prefix = f"b-{secrets.token_hex(3)}"
    with ExitStack() as stack:
        scenes = []
        for breakage in BREAKAGES:
            serving = certificates.good if breakage.is_tls else None
            proxy = stack.enter_context(FaultProxy.before(pulsar, serving))
            namespace = f"{prefix}-{re.sub('[^a-z0-9]+', '-', breakage.name.lower())}"
            scenes.append(Scene(breakage, BrokeredShop(WatchedShop(Shop(cluster, namespace, client)), proxy)))
        course = Course(cluster, client, certificates, tuple(scenes))
        try:
            yield course
        finally:
            names = [scene.namespace for scene in scenes]
            cluster.try_kubectl("delete", "namespace", "--ignore-not-found", "--wait=false", *names)
