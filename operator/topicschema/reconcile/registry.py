"""The reconcile of a SchemaRegistry: its Secrets, its broker's release and own settings, its status.

Policies use the registry. They are enqueued if what it reports changes.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from topicschema import telemetry
from topicschema.api.kinds import SCHEMA_REGISTRY
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType, Metadata
from topicschema.api.registries import ObservedPulsar, SchemaRegistry, SchemaRegistryStatus
from topicschema.api.wire import decode, decode_status
from topicschema.broker.broker import Broker
from topicschema.broker.errors import NotABrokerError
from topicschema.broker.tls import context_of
from topicschema.cluster.errors import NotFoundError
from topicschema.cluster.events import object_reference
from topicschema.core import releases
from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.core.reasons import Reason
from topicschema.reconcile import status_writer
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy import namespace_settings
from topicschema.reconcile.runtime.conditions import ConditionInput, ObservedAt, describe_error, not_ready, ready
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS
from topicschema.validation.errors import SourceError
from topicschema.validation.sources.pulsar.connection import BrokerConnection, BrokerEndpoint, LostError
from topicschema.validation.sources.pulsar.errors import SourceRefusedError

_LISTED: Final = 5


class SchemaRegistryReconciler:
    """The reconciler of SchemaRegistries."""

    def __init__(self, ctx: ReconcileContext) -> None:
        self._ctx = ctx
        self._unknown: set[Key] = set()

    async def broker_of(self, key: Key) -> str:
        """Return the address of the broker that a reconcile of `key` calls, or "" if it is unknown or there is none."""
        with suppress(TopicSchemaError):
            return (await self._ctx.registries.get(key.name)).address
        return ""

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Reconcile the registry and write its status. Raise the error that prevents Ready."""
        try:
            wire = await self._ctx.client.get(SCHEMA_REGISTRY, "", key.name)
        except NotFoundError:
            self._remove(key)
            return ReconcileResult.DELETED
        metadata = decode(Metadata, wire.get("metadata"), "metadata")
        before = decode_status(SchemaRegistryStatus, wire.get("status"))
        observed, error = before.observed, None
        try:
            registry = decode(SchemaRegistry, wire)
            self._ctx.index.secrets[key] = registry.secrets
            observed, conditions = await self._observe(key, registry)
        except ERRORS_WITHOUT_STATUS:
            raise
        except Exception as caught:  # noqa: BLE001  # it is raised below
            error = caught
            reachable = ConditionInput(ConditionType.REACHABLE, ConditionStatus.UNKNOWN, *describe_error(caught))
            conditions = (*not_ready(caught), reachable)
        moment = ObservedAt(before.conditions, metadata.generation, self._ctx.now())
        status = SchemaRegistryStatus(
            observed_generation=metadata.generation, conditions=moment.conditions(conditions), observed=observed
        )
        await status_writer.write(self._ctx, SCHEMA_REGISTRY, wire, status)
        self._ctx.registries.forget(key.name)
        was_ready, is_ready = _is_ready(before.conditions), _is_ready(conditions)
        if observed != before.observed or before.observed_generation != metadata.generation or was_ready != is_ready:
            for policy in self._ctx.index.policies_of_registry(key.name):
                self._ctx.enqueue(policy, 0.0)
        await self._report_unknown(key, wire, before, observed)
        if error is not None:
            raise error
        return ReconcileResult.DONE

    async def _observe(
        self, key: Key, registry: SchemaRegistry
    ) -> tuple[ObservedPulsar | None, tuple[ConditionInput, ...]]:
        """Return what the broker reports, and the conditions. Raise the error of a broker that does not answer."""
        broker = await self._ctx.brokers.of(registry, refresh=True)
        pulsar = registry.spec.pulsar
        if broker is None or pulsar is None:
            return None, ready(Reason.ACTIVE, "schemas are registered in the operator's own store")
        release = await broker.release()
        if release is None:
            raise NotABrokerError(
                f"{pulsar.admin_url}: the answer has no Pulsar version; is this a broker's admin URL?"
            )
        settings = await self._ctx.brokers.own_settings(registry, broker)
        observed = ObservedPulsar(
            version=release,
            settings=None if settings is None else namespace_settings.observed_broker(settings),
            address=registry.address,
        )
        role = self._ctx.brokers.role(registry)
        missing = [line async for line in _missing_rights(broker, role, self._tenants(key))]
        if settings is None:
            missing.append(
                f"the broker's own settings cannot be read: name {role} in superUserRoles of its configuration, or set "
                "schemaCompatibilityStrategy in each policy"
            )
        if pulsar.service_url is not None:
            missing += await asyncio.to_thread(_service_notes, pulsar.service_url, self._ctx.brokers.ca(registry))
        notes = (f"Pulsar {release}", releases.unknown_note(release), *missing[:_LISTED])
        reachable = ConditionInput(
            ConditionType.REACHABLE, ConditionStatus.TRUE, Reason.REACHABLE, "; ".join(filter(None, notes))
        )
        named = pulsar.version
        if named is not None and releases.judging_version(release) is not named:
            message = (
                f"the broker is {release}, whose rules judge, and spec.pulsar.version is {named}: remove the field, or "
                f"set it to {releases.judging_version(release)}"
            )
            return observed, (*not_ready(StalledError(Reason.PULSAR_VERSION_MISMATCH, message)), reachable)
        return observed, (*ready(Reason.ACTIVE, "the broker answers"), reachable)

    def _tenants(self, key: Key) -> list[str]:
        """Return the tenants of the registry's policies."""
        return sorted({claims.tenant for claims in self._ctx.index.claims_of_registry(key.name)})

    async def _report_unknown(
        self, key: Key, wire: Mapping[str, Any], before: SchemaRegistryStatus, observed: ObservedPulsar | None
    ) -> None:
        """Count the registries with a release that the operator does not know, and emit an Event for a new one."""
        note = "" if observed is None or observed.version is None else releases.unknown_note(observed.version)
        self._count_unknown(key, is_unknown=bool(note))
        if note and observed != before.observed:
            about = object_reference(SCHEMA_REGISTRY, wire)
            await self._ctx.events.record(about, "Warning", Reason.PULSAR_VERSION_UNSUPPORTED, note, "Reconcile")

    def _count_unknown(self, key: Key, *, is_unknown: bool) -> None:
        (self._unknown.add if is_unknown else self._unknown.discard)(key)
        telemetry.UNKNOWN_PULSAR_VERSIONS.set(len(self._unknown))

    def _remove(self, key: Key) -> None:
        self._count_unknown(key, is_unknown=False)
        self._ctx.registries.forget(key.name)
        self._ctx.brokers.forget(key.name)
        self._ctx.own_writes.forget(key)
        self._ctx.index.remove_registry(key)
        for policy in self._ctx.index.policies_of_registry(key.name):
            self._ctx.enqueue(policy, 0.0)


def _service_notes(url: str, ca: str | None) -> list[str]:
    """Return a note if no server answers at the service URL: only the validation pods need to reach it.

    Raise StalledError(InvalidServiceURL) if a server answers that is none of Pulsar. No credentials are sent.
    """
    pem = None if ca is None else ca.encode()
    tls = context_of(None, pem, trusts_system=pem is None) if url.startswith("pulsar+ssl:") else None
    endpoint = BrokerEndpoint(url, tls=tls)
    try:
        BrokerConnection(endpoint, next(iter(endpoint.addresses()))).close()
    except SourceRefusedError:
        return []  # a broker, which wants credentials
    except LostError as error:
        return [f"spec.pulsar.serviceURL cannot be reached from the operator: {error}"]
    except SourceError as error:
        raise StalledError(Reason.INVALID_SERVICE_URL, f"spec.pulsar.serviceURL {url}: {error.message}") from None
    return []


def _is_ready(conditions: Iterable[Condition | ConditionInput]) -> bool:
    return any(each.type is ConditionType.READY and each.status is ConditionStatus.TRUE for each in conditions)


async def _missing_rights(broker: Broker, role: str, tenants: Iterable[str]) -> AsyncIterator[str]:
    """Yield a line for each tenant whose namespaces the operator may not manage, with the command that grants it."""
    for tenant in tenants:
        try:
            may_manage = await broker.manages(tenant)
        except TopicSchemaError:  # the policies of the tenant report it
            continue
        if not may_manage:
            yield (
                f"{role} is no admin of tenant {tenant}: pulsar-admin tenants update {tenant} --admin-roles "
                f"ROLES,{role} (ROLES are the present ones, by pulsar-admin tenants get {tenant})"
            )
