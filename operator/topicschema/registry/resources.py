"""TopicSchemas and policies as the registry writes them: by server-side apply, and never fields of another manager."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from topicschema.api.kinds import TOPIC_SCHEMA, Kind, Object
from topicschema.api.topic_names import name_of
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.cluster.changes import changes
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.history import History, Owner
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.topics import Topic
from topicschema.registry.answers import Form, RestError

MANAGER: Final = "topicschema-registry"
"""The field manager of all that the registry applies."""
SCHEMA_FIELDS: Final = frozenset({"type", "schema", "keyValue", "protobuf", "properties"})
_OF_PARTS: Final = ("key.schema.", "value.schema.", "kv.encoding.type")


@dataclass(frozen=True, slots=True)
class TopicResource:
    """The TopicSchema of a topic, at its address. `wire` is None if it does not exist."""

    namespace: str
    name: str
    wire: Object | None = None

    @property
    def decoded(self) -> TopicSchema | None:
        """The resource."""
        return None if self.wire is None else decode(TopicSchema, self.wire)

    def __str__(self) -> str:
        """Return how kubectl finds it."""
        return f"TopicSchema {self.name} in namespace {self.namespace}"


async def find(client: ApiClient, holder: Owner, topic: Topic, history: History) -> TopicResource:
    """Return the TopicSchema of the topic in the policy's namespace: that which claims it, or the one of its name.

    Raises RestError 409 if the resource of that name has another topic.
    """
    claim = history.claim
    if claim is not None and claim.namespace == holder.namespace:
        wire = await _get(client, claim.namespace, claim.name)
        if wire is not None and wire["metadata"].get("uid") == claim.uid:
            return TopicResource(claim.namespace, claim.name, wire)
    resource = TopicResource(holder.namespace, name_of(topic))
    wire = await _get(client, resource.namespace, resource.name)
    if wire is not None and Topic.parse(wire["spec"]["topic"]) != topic:
        raise RestError(409, f"{resource} has another topic: create a TopicSchema of another name", Form.PAGE)
    return TopicResource(resource.namespace, resource.name, wire)


async def _get(client: ApiClient, namespace: str, name: str) -> Object | None:
    try:
        return await client.get(TOPIC_SCHEMA, namespace, name)
    except NotFoundError:
        return None


def fields_of(info: SchemaInfo) -> dict[str, Any]:
    """Return the schema as fields of a TopicSchema's spec. Raises InvalidSchemaError if a pair cannot be split."""
    fields: dict[str, Any] = {"type": info.type.value}
    properties = dict(info.properties)
    if info.type is SchemaType.KEY_VALUE:
        pair = key_value.decode(info)
        if pair.encoding is None:
            raise InvalidSchemaError("KEY_VALUE_FORM", "the property kv.encoding.type must be INLINE or SEPARATED")
        fields["keyValue"] = {"encoding": pair.encoding.value}
        fields["keyValue"] |= {side.value: _part(part) for side, part in pair.parts}
        properties = {name: text for name, text in properties.items() if not name.startswith(_OF_PARTS)}
    elif info.schema:
        fields["schema"] = info.schema.decode()
    return fields | ({"properties": properties} if properties else {})


def _part(part: key_value.Part) -> dict[str, Any]:
    texts = {"name": part.name, "type": part.info.type.value, "schema": part.info.schema.decode()}
    properties = {"properties": dict(part.info.properties)} if part.info.properties else {}
    return {name: text for name, text in texts.items() if text} | properties


def has_fields(wire: Object, fields: Mapping[str, Any]) -> bool:
    """Return True if the spec has exactly this schema."""
    spec = {name: value for name, value in wire["spec"].items() if name in SCHEMA_FIELDS and value}
    return spec == fields


def owned(wire: Object, manager: str = MANAGER) -> set[str]:
    """Return the fields of the spec that the manager owns."""
    entries = [each for each in wire["metadata"].get("managedFields") or () if each.get("manager") == manager]
    names = [name for each in entries for name in (each.get("fieldsV1") or {}).get("f:spec") or {}]
    return {name.removeprefix("f:") for name in names}


def check_managers(wire: Object, fields: Collection[str], what: str) -> None:
    """Raise RestError 409 if another manager, for instance a GitOps tool, owns one of these fields of the spec."""
    entries = wire["metadata"].get("managedFields") or ()
    managers = {str(each.get("manager")) for each in entries if not each.get("subresource")} - {MANAGER}
    others = {name: sorted(owned(wire, name) & set(fields)) for name in sorted(managers)}
    listed = [f"{name} (spec.{', spec.'.join(of)})" for name, of in others.items() if of]
    if listed:
        message = f"{what} is managed by {'; '.join(listed)}: make the change there"
        raise RestError(409, message, Form.PAGE)


async def apply(  # noqa: PLR0913, PLR0917 - an object's address is three of them
    client: ApiClient, kind: Kind, namespace: str, name: str, spec: Mapping[str, Any], before: Object | None
) -> Object:
    """Apply these fields server-side and return the object. Raises ConflictError if it changed since it was read."""
    metadata = {"name": name, "namespace": namespace}
    if before is not None:
        metadata |= {"resourceVersion": before["metadata"]["resourceVersion"]}
    body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": dict(spec)}
    return await client.apply(kind, namespace, name, body, field_manager=MANAGER, force=before is not None)


class TopicWatch:
    """Watch of all TopicSchemas, which wakes the tasks that wait for one."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._waiting: dict[tuple[str, str], set[asyncio.Event]] = {}

    async def follow(self) -> None:
        """Wake who waits, for ever."""
        async for metadata, _ in changes(self._client, TOPIC_SCHEMA, ""):
            for event in self._waiting.get((str(metadata["namespace"]), str(metadata["name"])), ()):
                event.set()

    @contextmanager
    def changes_of(self, namespace: str, name: str) -> Iterator[asyncio.Event]:
        """Yield an event that each change of the TopicSchema sets."""
        event, key = asyncio.Event(), (namespace, name)
        self._waiting.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[key].discard(event)
            if not self._waiting[key]:
                del self._waiting[key]
