"""Conversion of schemas, topics and settings to and from Pulsar's admin REST API. Pure.

Source: Pulsar's SchemasResourceBase, SchemaUtils and Policies (Pulsar 4.0); docs/broker.md has the pitfalls.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any, Final
from urllib.parse import quote

from topicschema.broker.errors import BrokerUnavailableError, RefusedByBrokerError
from topicschema.core.errors import InvalidSchemaError, StalledAtBrokerError
from topicschema.core.formats import key_value
from topicschema.core.reasons import Reason
from topicschema.core.remote import BrokerSettings, NamespaceSettings, Producer, RemoteVersion, Setting
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, is_system_topic

_NEVER_SENT: Final = frozenset({SchemaType.BYTES, SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH})
_MOST_VERSIONS: Final = 10**9
_OF_PRODUCER: Final = ("producerName", "clientVersion", "address")
# Each broker has it in a namespace of its own, to which no other client sends messages.
_HEALTH_CHECK: Final = "healthcheck"
_RESERVED: Final = "__"
_PARTITION: Final = re.compile(r"-partition-\d+$")


def schemas_path(topic: Topic, call: str) -> str:
    """Return the path of a topic's schemas. The broker decodes the name twice, the second time with `+` as a space."""
    name = quote(quote(topic.local_name, safe=""), safe="")
    return f"/admin/v2/schemas/{_entity(topic.tenant)}/{_entity(topic.namespace)}/{name}/{call}"


def topic_path(topic: Topic, domain: str, call: str) -> str:
    """Return the path of a topic's own settings. The broker decodes its name once.

    `domain` is `persistent` or `non-persistent`.
    """
    return f"/admin/v2/{domain}/{_entity(topic.tenant)}/{_entity(topic.namespace)}/{_entity(topic.local_name)}/{call}"


def namespace_path(key: PulsarNamespaceKey, call: str = "", root: str = "namespaces") -> str:
    """Return the path of a Pulsar namespace, or of a call below it."""
    below = f"/{call}" if call else ""
    return f"/admin/v2/{root}/{_entity(key.tenant)}/{_entity(key.namespace)}{below}"


def auto_update_call(*, allows_replicators: bool | None) -> str:
    """Return the call below a Pulsar namespace that writes `isAllowAutoUpdateSchema`, and this flag if it is set."""
    if allows_replicators is None:
        return Setting.AUTO_UPDATE
    return f"{Setting.AUTO_UPDATE}?allowAutoUpdateSchemaWithReplicator={str(allows_replicators).lower()}"


def tenant_path(tenant: str) -> str:
    """Return the path that lists a tenant's namespaces."""
    return f"/admin/v2/namespaces/{_entity(tenant)}"


def written(info: SchemaInfo) -> dict[str, Any]:
    """Return the body of an upload.

    Raise RefusedByBrokerError or InvalidSchemaError for a schema that must never be sent to a broker.
    """
    if info.type in _NEVER_SENT:
        raise RefusedByBrokerError(
            f"a schema of type {info.type} is never sent to a broker: it would block the topic", 0
        )
    if info.type is SchemaType.KEY_VALUE:
        key_value.decode(info)
        text = key_value.text_of(info.schema)
    else:
        text = _text(info.schema)
    return {"type": info.type.value, "schema": text, "properties": dict(info.properties)}


def version_of(answer: Any) -> RemoteVersion:
    """Return the version in a GetSchemaResponse.

    Raise StalledAtBrokerError(UnsupportedSchemaType) for an unknown type.
    """
    try:
        number, kind, data = _counted(answer["version"]), str(answer["type"]), str(answer["data"])
        properties = {str(name): str(text) for name, text in (answer.get("properties") or {}).items()}
        at = datetime.fromtimestamp(int(answer.get("timestamp") or 0) / 1000, UTC)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, OSError):
        raise _unlike("a schema") from None
    if kind not in SchemaType.__members__:
        message = f"the broker has a schema of type {kind[:40]!r} as version {number}, which this release does not know"
        raise StalledAtBrokerError(Reason.UNSUPPORTED_SCHEMA_TYPE, message)
    info = SchemaInfo(SchemaType(kind), _bytes_of(SchemaType(kind), data), properties)
    return RemoteVersion(number, info, at.strftime("%Y-%m-%dT%H:%M:%SZ"))


def listed_of(answer: Any) -> list[Any]:
    """Return the items of a listing of versions."""
    items = answer.get("getSchemaResponses") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise _unlike("a list of schemas")
    return items


def index_of(answer: Any) -> tuple[int, ...]:
    """Return all numbers in a topic's storage, with tombstones, ascending. An empty answer means no storage."""
    if answer is None:
        return ()
    try:
        return tuple(sorted(_counted(each["version"]) for each in answer["index"]))
    except (TypeError, ValueError, KeyError, OverflowError):
        raise _unlike("an index of versions") from None


def _counted(number: Any) -> int:
    """Return the number as an int. Raise ValueError if no version can have it, or the history cannot store it."""
    counted = int(number)
    if not 0 <= counted < _MOST_VERSIONS:
        raise ValueError(number)
    return counted


def number_of(answer: Any) -> int:
    """Return the number in `{"version": 3}` or `{"version": {"version": 3}}`."""
    inner = answer.get("version") if isinstance(answer, dict) else None
    number = inner.get("version") if isinstance(inner, dict) else inner
    if not isinstance(number, int) or isinstance(number, bool):
        raise _unlike("a version's number")
    return number


def same_content(sent: SchemaInfo, read: SchemaInfo) -> bool:
    """Return True if `read`, the result of a GET, is the stored form of `sent`.

    A GET of a pair rewrites numbers (1.00 as 1.0), so the parts of a KEY_VALUE are compared as JSON. A GET shows the
    text `null` of a STRING part as empty.
    """
    if sent.type is not read.type or dict(sent.properties) != dict(read.properties):
        return False
    if sent.schema == read.schema or sent.type is not SchemaType.KEY_VALUE:
        return sent.schema == read.schema
    try:
        return all(_same_json(*parts) for parts in zip(_parts(sent), _parts(read), strict=True))
    except InvalidSchemaError:
        return False


def spellings(info: SchemaInfo) -> tuple[SchemaInfo, ...]:
    """Return the schema, and all others that a GET shows the same: a STRING part's text may be empty or `null`."""
    if info.type is not SchemaType.KEY_VALUE:
        return (info,)
    try:
        pair = key_value.decode(info)
    except InvalidSchemaError:
        return (info,)
    texts = ((part.info.schema, *_other_text(part.info)) for _, part in pair.parts)
    return tuple(replace(info, schema=key_value.join(*parts)) for parts in product(*texts))


def namespace_settings_of(answer: Any) -> NamespaceSettings:
    """Return the schema settings in a Pulsar namespace's policies."""
    if not isinstance(answer, dict):
        raise _unlike("a namespace's policies")
    clusters = answer.get("replication_clusters")
    automatic = answer.get("schema_auto_update_compatibility_strategy")
    return NamespaceSettings(
        strategy=strategy_of(answer.get("schema_compatibility_strategy")),
        auto_update_strategy=automatic if isinstance(automatic, str) else None,
        allows_auto_update=flag_of(answer.get("is_allow_auto_update_schema")),
        enforces_validation=flag_of(answer.get("schema_validation_enforced")),
        allows_replicators=flag_of(answer.get("is_allow_auto_update_schema_with_replicator")),
        replication_clusters=tuple(sorted(map(str, clusters))) if isinstance(clusters, list) else (),
    )


def broker_settings_of(configuration: Any) -> BrokerSettings:
    """Return the schema settings in a broker's runtime configuration, whose values are all strings."""
    if not isinstance(configuration, dict):
        raise _unlike("a broker's configuration")
    return BrokerSettings(
        strategy=strategy_of(configuration.get("schemaCompatibilityStrategy")),
        allows_auto_update=flag_of(configuration.get("isAllowAutoUpdateSchemaEnabled")),
        enforces_validation=flag_of(configuration.get("isSchemaValidationEnforced")),
    )


def strategy_of(value: Any) -> Strategy | None:
    """Return the strategy, or None if it is unset, which the broker also calls UNDEFINED."""
    known = isinstance(value, str) and value in Strategy.__members__ and value != Strategy.UNDEFINED
    return Strategy(value) if known else None


def flag_of(value: Any) -> bool | None:
    """Return the flag of a JSON boolean or a string, or None if it is unset."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def local_names(names: Iterable[str]) -> Iterator[str]:
    """Yield the local names of `persistent://t/n/x`. A partition yields its topic's name.

    System topics are left out: the broker's own, and all whose name begins with two underscores.

    A listing has the names as clients write them, not percent-encoded.
    """
    for name in names:
        local = _PARTITION.sub("", name.rsplit("/", 1)[-1])
        if local != _HEALTH_CHECK and not local.startswith(_RESERVED) and not is_system_topic(local):
            yield local


def names_of(answer: Any) -> list[str]:
    """Return the answer, a list of strings."""
    if not isinstance(answer, list) or not all(isinstance(each, str) for each in answer):
        raise _unlike("a list of topics")
    return answer


def producers_of(answer: Any) -> tuple[Producer, ...]:
    """Return the producers in a topic's stats, by name. One of several partitions counts once."""
    try:
        stats = answer["partitions"].values() if "partitions" in answer else (answer,)
        publishers = [each for partition in stats for each in partition["publishers"]]
        shown = [[str(each.get(member) or "") for member in _OF_PRODUCER] for each in publishers]
    except (TypeError, KeyError, AttributeError):
        raise _unlike("a topic's stats") from None
    producers = {Producer(_PARTITION.sub("", name), *others) for name, *others in shown}
    return tuple(sorted(producers, key=lambda each: (each.name, each.client_version, each.address)))


def _entity(name: str) -> str:
    return quote(name, safe="")


def _bytes_of(kind: SchemaType, data: str) -> bytes:
    if kind is SchemaType.KEY_VALUE:
        try:
            return key_value.payload_of(data)
        except InvalidSchemaError:
            raise _unlike("a pair of schemas") from None
    return data.encode("utf-8", "replace")


def _text(schema: bytes) -> str:
    try:
        return schema.decode()
    except UnicodeDecodeError:
        raise RefusedByBrokerError(
            "a schema that is not UTF-8 is never sent: the broker would store another", 0
        ) from None


def _parts(info: SchemaInfo) -> tuple[bytes, bytes]:
    pair = key_value.decode(info)
    key, value = (b"" if _other_text(part.info) else part.info.schema for _, part in pair.parts)
    return key, value


def _other_text(part: SchemaInfo) -> tuple[bytes, ...]:
    """Return the other texts that a GET shows like this part's: one for a STRING, else ()."""
    others = {b"": (b"null",), b"null": (b"",)} if part.type is SchemaType.STRING else {}
    return others.get(part.schema, ())


def _same_json(one: bytes, other: bytes) -> bool:
    try:
        return one == other or _as_shown(one) == _as_shown(other)
    except (ValueError, RecursionError):
        return False


def _as_shown(text: bytes) -> Any:
    """Return a part's JSON as a GET shows it: fractions as doubles, infinite ones as strings, members in order."""
    return json.loads(text, parse_float=_shown, object_pairs_hook=tuple)


def _shown(fraction: str) -> float | str:
    value = float(fraction)
    return value if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"


def _unlike(what: str) -> BrokerUnavailableError:
    return BrokerUnavailableError(f"the answer is not {what}; is this a broker's admin URL?")
