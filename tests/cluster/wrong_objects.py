"""Objects that the API server must refuse by itself, and the right versions of them.

Each row changes one thing in a right object: at a path, to a value. It has the field that the refusal must name and
some of its words. One thing only, because a wrong type or length switches the other rules off for that request.
"""

import copy
from dataclasses import replace
from typing import Any, Final, NamedTuple

from topicschema.api.store import ClaimContent, claim_to_wire, history_to_wire, version_to_wire
from topicschema.core.history import History, Origin, Owner, VersionEntry
from topicschema.core.schemas import SchemaInfo, SchemaType, digest
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey

ABSENT: Final = object()
Json = dict[str, Any]


class Row(NamedTuple):
    """One change to a right object; `field` and `words` are in the refusal, and empty for a right version."""

    sentence: str
    base: Json
    path: str
    value: Any
    field: str = ""
    words: str = ""


def changed(base: Json, path: str, value: Any) -> Json:
    """Return a copy of `base` with the member at the dotted `path` set, or removed."""
    copied = copy.deepcopy(base)
    *parents, last = path.split(".")
    target = copied
    for parent in parents:
        target = target.setdefault(parent, {})
    if value is ABSENT:
        del target[last]
    else:
        target[last] = value
    return copied


def _resource(kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


TOPIC = _resource(
    "TopicSchema",
    "created",
    {
        "topic": "persistent://shop/orders/created",
        "type": "AVRO",
        "schema": '{"type": "record", "name": "Created", "fields": []}',
        "properties": {"owner": "team-a"},
        "schemaCompatibilityStrategy": "FULL",
        "deletionPolicy": "Retain",
        "suspend": False,
    },
)
STRING = _resource("TopicSchema", "note", {"topic": "persistent://shop/orders/note", "type": "STRING"})
NUMBER = _resource("TopicSchema", "count", {"topic": "persistent://shop/orders/count", "type": "INT32"})
PAIR = _resource(
    "TopicSchema",
    "pairs",
    {
        "topic": "persistent://shop/orders/pairs",
        "type": "KEY_VALUE",
        "keyValue": {
            "encoding": "SEPARATED",
            "key": {"name": "Id", "type": "STRING", "properties": {"__charset": "UTF-8"}},
            "value": {"name": "Order", "type": "AVRO", "schema": '{"type": "record", "name": "Order", "fields": []}'},
        },
        "properties": {"owner": "team-a"},
    },
)
PROTOBUF = _resource(
    "TopicSchema",
    "proto",
    {
        "topic": "persistent://shop/orders/proto",
        "type": "PROTOBUF_NATIVE",
        "protobuf": {
            "message": "shop.Order",
            "files": {"shop/order.proto": 'syntax = "proto3"; package shop; message Order { string id = 1; }'},
        },
    },
)
EXCEPTION = {"topic": "created", "allowedStrategies": ["FULL"], "until": "2026-12-31", "reason": "v1 clients are gone"}
POLICY = _resource(
    "NamespaceSchemaPolicy",
    "orders",
    {
        "pulsarCluster": "pulsar",
        "pulsarNamespace": "shop/orders",
        "schemaCompatibilityStrategy": "BACKWARD_TRANSITIVE",
        "strictness": "Broker",
        "brokerProfile": {"pulsarVersion": "4.0", "schemaCompatibilityStrategy": "FULL"},
        "constraints": {
            "allowedTypes": ["AVRO", "JSON"],
            "allowedStrategies": ["FULL"],
            "requiredProperties": ["owner"],
            "maxSchemaBytes": 262144,
        },
    },
)
_KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
_HASH = digest(b"1")
_ENTRY = VersionEntry(0, SchemaType.AVRO, _HASH, _HASH, Origin.SPEC, "2026-11-21T05:30:00Z")
_OWNER = Owner("shop", "created", "6f1c")
_INFO = SchemaInfo(SchemaType.AVRO, b'"string"', {"owner": "team-a"})
HISTORY = history_to_wire(History(_KEY, _OWNER, 1, (_ENTRY,)), namespace="", resource_version=None)
_SECOND = replace(_ENTRY, schema_version=1)
VERSION = version_to_wire(History(_KEY, entries=(_ENTRY, _SECOND)), _INFO, _HASH, namespace="")
CLAIM = claim_to_wire(
    PulsarNamespaceKey("pulsar", "shop", "orders"), ClaimContent(_OWNER), namespace="", resource_version=None
)

_SPELLING = "write persistent://TENANT/NAMESPACE/TOPIC"
_UNSUPPORTED = "Unsupported value"
_TYPE = "must be of type"
_REQUIRED = "Required value"

WRONG = [
    Row("a TopicSchema without a spec", TOPIC, "spec", ABSENT, "spec", _REQUIRED),
    Row("no topic", TOPIC, "spec.topic", ABSENT, "spec.topic", _REQUIRED),
    Row("a topic that is a number", TOPIC, "spec.topic", 1, "spec.topic", _TYPE),
    Row("an empty topic", TOPIC, "spec.topic", "", "spec.topic", _SPELLING),
    Row("a topic without its domain", TOPIC, "spec.topic", "shop/orders/created", "spec.topic", _SPELLING),
    Row("a topic of another domain", TOPIC, "spec.topic", "http://shop/orders/created", "spec.topic", _SPELLING),
    Row("a scalable topic", TOPIC, "spec.topic", "topic://shop/orders/created", "spec.topic", "scalable topics"),
    Row("a topic in two parts", TOPIC, "spec.topic", "persistent://shop/created", "spec.topic", _SPELLING),
    Row("a topic with a cluster", TOPIC, "spec.topic", "persistent://shop/eu/orders/created", "spec.topic", _SPELLING),
    Row("a topic without its own name", TOPIC, "spec.topic", "persistent://shop/orders/", "spec.topic", _SPELLING),
    Row("a space in the tenant", TOPIC, "spec.topic", "persistent://s hop/orders/created", "spec.topic", _SPELLING),
    Row("an umlaut in the tenant", TOPIC, "spec.topic", "persistent://shöp/orders/created", "spec.topic", _SPELLING),
    Row("a comma in the namespace", TOPIC, "spec.topic", "persistent://shop/or,ders/created", "spec.topic", _SPELLING),
    Row("a space in the topic", TOPIC, "spec.topic", "persistent://shop/orders/cre ated", "spec.topic", _SPELLING),
    Row("a line end after it", TOPIC, "spec.topic", "persistent://shop/orders/created\n", "spec.topic", _SPELLING),
    Row("a NUL in the topic", TOPIC, "spec.topic", "persistent://shop/orders/cre\0ated", "spec.topic", _SPELLING),
    Row("an invisible character", TOPIC, "spec.topic", "persistent://shop/orders/a\u200bb", "spec.topic", _SPELLING),
    Row("an escape in the topic", TOPIC, "spec.topic", "persistent://shop/orders/a%2Fb", "spec.topic", "decoded"),
    Row("a partition", TOPIC, "spec.topic", "persistent://shop/orders/a-partition-3", "spec.topic", "-partition-N"),
    Row("two dots as a tenant", TOPIC, "spec.topic", "persistent://../orders/created", "spec.topic", "no names"),
    Row("a dot as a namespace", TOPIC, "spec.topic", "persistent://shop/./created", "spec.topic", "no names"),
    Row("two dots as a topic", TOPIC, "spec.topic", "persistent://shop/orders/..", "spec.topic", "no names"),
    Row("513 letters", TOPIC, "spec.topic", "persistent://shop/orders/" + "x" * 513, "spec.topic", "at most 512"),
    Row("a topic of 1,025 letters", TOPIC, "spec.topic", f"persistent://{'x' * 1008}/o/c", "spec.topic", "Too long"),
    Row("a type in small letters", TOPIC, "spec.type", "avro", "spec.type", "Pulsar has no type avro: write AVRO"),
    Row("a customised type", TOPIC, "spec.type", "THRIFT", "spec.type", "Pulsar has no type THRIFT"),
    Row("an empty type", TOPIC, "spec.type", "", "spec.type", "take one of AVRO"),
    Row("type BYTES", TOPIC, "spec.type", "BYTES", "spec.type", "a topic of plain bytes needs no schema"),
    Row("type NONE", TOPIC, "spec.type", "NONE", "spec.type", "a topic of plain bytes needs no schema"),
    Row("type AUTO_CONSUME", TOPIC, "spec.type", "AUTO_CONSUME", "spec.type", "a setting of clients"),
    Row("type AUTO_PUBLISH", TOPIC, "spec.type", "AUTO_PUBLISH", "spec.type", "a setting of clients"),
    Row("type AUTO_PRODUCE", TOPIC, "spec.type", "AUTO_PRODUCE", "spec.type", "a setting of clients"),
    Row("AVRO without a text", TOPIC, "spec.schema", ABSENT, "spec.schema", "type AVRO needs the text"),
    Row("AVRO with an empty text", TOPIC, "spec.schema", "", "spec.schema", "type AVRO needs the text"),
    Row("JSON without a text", NUMBER, "spec.type", "JSON", "spec.schema", "type JSON needs the text"),
    Row("a schema of 900,001 letters", TOPIC, "spec.schema", "x" * 900_001, "spec.schema", "Too long"),
    Row("INT32 with a text", TOPIC, "spec.type", "INT32", "spec.schema", "type INT32 carries no schema"),
    Row("INT32 with null", NUMBER, "spec.schema", "null", "spec.schema", "type INT32 carries no schema"),
    Row("STRING with a text", STRING, "spec.schema", '"string"', "spec.schema", "type STRING carries no schema"),
    Row("PROTOBUF without a text", NUMBER, "spec.type", "PROTOBUF", "spec.schema", "type PROTOBUF needs the text"),
    Row("KEY_VALUE without its pair", NUMBER, "spec.type", "KEY_VALUE", "spec.keyValue", "needs keyValue"),
    Row("KEY_VALUE with a text", PAIR, "spec.schema", "{}", "spec.schema", "leave schema out"),
    Row("a pair beside AVRO", TOPIC, "spec.keyValue", PAIR["spec"]["keyValue"], "spec.keyValue", "KEY_VALUE only"),
    Row("an unknown encoding", PAIR, "spec.keyValue.encoding", "BOTH", "spec.keyValue.encoding", _UNSUPPORTED),
    Row("a key of a customised type", PAIR, "spec.keyValue.key.type", "THRIFT",
        "spec.keyValue.key.type", "Pulsar has no type THRIFT"),
    Row("a key of type NONE", PAIR, "spec.keyValue.key.type", "NONE", "spec.keyValue.key.type", "write BYTES"),
    Row("a pair in a pair", PAIR, "spec.keyValue.key.type", "KEY_VALUE", "spec.keyValue.key.type", "make it a record"),
    Row("a key of a client's setting", PAIR, "spec.keyValue.key.type", "AUTO_CONSUME",
        "spec.keyValue.key.type", "a setting of clients"),
    Row("an AVRO key without a text", PAIR, "spec.keyValue.key.type", "AVRO",
        "spec.keyValue.key.schema", "type AVRO needs the text"),
    Row("a PROTOBUF_NATIVE key without a text", PAIR, "spec.keyValue.key.type", "PROTOBUF_NATIVE",
        "spec.keyValue.key.schema", "type PROTOBUF_NATIVE needs the text"),
    Row("a value of bytes with a text", PAIR, "spec.keyValue.value.type", "BYTES",
        "spec.keyValue.value.schema", "type BYTES carries no schema"),
    Row("a STRING key with a text", PAIR, "spec.keyValue.key.schema", '"string"',
        "spec.keyValue.key.schema", "type STRING carries no schema"),
    Row("a property that keyValue makes", PAIR, "spec.properties", {"kv.encoding.type": "INLINE"},
        "spec.properties", "are made from keyValue"),
    Row("a part's property beside it", PAIR, "spec.properties", {"value.schema.type": "AVRO"},
        "spec.properties", "are made from keyValue"),
    Row("PROTOBUF_NATIVE of nothing", PROTOBUF, "spec.protobuf", ABSENT, "spec.protobuf", "needs protobuf (the source"),
    Row("sources and envelope", PROTOBUF, "spec.schema", "{}", "spec.schema", "leave schema out"),
    Row("sources beside AVRO", TOPIC, "spec.protobuf", PROTOBUF["spec"]["protobuf"],
        "spec.protobuf", "PROTOBUF_NATIVE only"),
    Row("an empty message", PROTOBUF, "spec.protobuf.message", "", "spec.protobuf.message", "full name"),
    Row("a spaced message", PROTOBUF, "spec.protobuf.message", "shop Order", "spec.protobuf.message", "full name"),
    Row("no file at all", PROTOBUF, "spec.protobuf.files", {}, "spec.protobuf.files", "give at least the file"),
    Row("257 files", PROTOBUF, "spec.protobuf.files", {f"{n}.proto": "" for n in range(257)},
        "spec.protobuf.files", "Too many"),
    *(Row(f"a file named {name!r}", PROTOBUF, "spec.protobuf.files", {name: ""},
          "spec.protobuf.files", "use the imported name")
      for name in ("a.txt", "/a.proto", "../a.proto", "a//b.proto", ".proto", "ä.proto", "a b.proto", "a.proto\n",
                   "a\\b.proto", "x" * 250 + ".proto")),
    Row("900,001 letters in two files", PROTOBUF, "spec.protobuf.files", {"a.proto": "x" * 900_000, "b.proto": "x"},
        "spec.protobuf.files", "all files together"),
    Row("a property of 4,097 letters", TOPIC, "spec.properties.owner", "x" * 4097, "spec.properties.owner", "Too long"),
    Row("a property without a name", TOPIC, "spec.properties", {"": "a"}, "spec.properties", "1 to 256 characters"),
    Row("a name of 257 letters", TOPIC, "spec.properties", {"x" * 257: "a"}, "spec.properties", "1 to 256 characters"),
    Row("an empty cluster", POLICY, "spec.pulsarCluster", "", "spec.pulsarCluster", "letters, digits"),
    Row("a space in the cluster", POLICY, "spec.pulsarCluster", "a b", "spec.pulsarCluster", "letters, digits"),
    Row("a namespace without tenant", POLICY, "spec.pulsarNamespace", "orders", "spec.pulsarNamespace", "TENANT/"),
    Row("a namespace in three parts", POLICY, "spec.pulsarNamespace", "a/b/c", "spec.pulsarNamespace", "TENANT/"),
    Row("a namespace with a wildcard", POLICY, "spec.pulsarNamespace", "shop/*", "spec.pulsarNamespace", "TENANT/"),
    Row("two dots as a namespace", POLICY, "spec.pulsarNamespace", "shop/..", "spec.pulsarNamespace", "no names"),
    Row("a dot as a tenant", POLICY, "spec.pulsarNamespace", "./orders", "spec.pulsarNamespace", "no names"),
    Row("an empty namespace", POLICY, "spec.pulsarNamespace", "shop/", "spec.pulsarNamespace", "TENANT/"),
    Row("an allowed type twice", POLICY, "spec.constraints.allowedTypes", ["AVRO", "AVRO"],
        "spec.constraints.allowedTypes[1]", "Duplicate value"),
    Row("a required property without a name", POLICY, "spec.constraints.requiredProperties", [""],
        "spec.constraints.requiredProperties[0]", "at least 1 char"),
    Row("two exceptions for a topic", POLICY, "spec.constraints.exceptions", [EXCEPTION, EXCEPTION],
        "spec.constraints.exceptions[1]", "Duplicate value"),
    Row("an exception until a day that does not exist", POLICY, "spec.constraints.exceptions",
        [{**EXCEPTION, "until": "2026-02-30"}],
        "spec.constraints.exceptions[0].until", "write a date or a time in UTC"),
    Row("an exception until a local time", POLICY, "spec.constraints.exceptions",
        [{**EXCEPTION, "until": "2026-12-31T18:00:00"}],
        "spec.constraints.exceptions[0].until", "write a date or a time"),
    Row("an exception for a full topic name", POLICY, "spec.constraints.exceptions",
        [{**EXCEPTION, "topic": "shop/orders/created"}], "spec.constraints.exceptions[0].topic", "local name"),
    Row("an exception with an unknown strategy", POLICY, "spec.constraints.exceptions",
        [{**EXCEPTION, "allowedStrategies": ["LENIENT"]}],
        "spec.constraints.exceptions[0].allowedStrategies[0]", "Unsupported value"),
    Row("an exception without a strategy", POLICY, "spec.constraints.exceptions",
        [{**EXCEPTION, "allowedStrategies": []}],
        "spec.constraints.exceptions[0].allowedStrategies", "at least 1 items"),
    Row("an exception without a reason", POLICY, "spec.constraints.exceptions", [{**EXCEPTION, "reason": ""}],
        "spec.constraints.exceptions[0].reason", "at least 1 char"),
    Row("an unknown deletion policy", POLICY, "spec.constraints.allowedDeletionPolicies", ["Keep"],
        "spec.constraints.allowedDeletionPolicies[0]", "Unsupported value"),
    Row("at most 0 bytes", POLICY, "spec.constraints.maxSchemaBytes", 0,
        "spec.constraints.maxSchemaBytes", "greater than or equal to 1"),
    Row("a history under another name", HISTORY, "metadata.name", "created", "metadata", "is named h-"),
    Row("incarnation -1", HISTORY, "spec.incarnation", -1, "spec.incarnation", "greater than or equal to 0"),
    Row("a history without its versions", HISTORY, "spec.versions", ABSENT, "spec.versions", _REQUIRED),
    Row("a line of 141 letters", HISTORY, "spec.versions", ["x" * 141], "spec.versions[0]", "Too long"),
    Row("10,001 lines", HISTORY, "spec.versions", [""] * 10_001, "spec.versions", "Too many"),
    Row("a version under another name", VERSION, "metadata.name", "created", "metadata", "is named HISTORY-"),
    Row("a version of a misnamed history", VERSION, "spec.history", "created", "spec.history", "should match"),
    Row("a version without a payload", VERSION, "spec.payload", ABSENT, "spec.payload", _REQUIRED),
    Row("a hash that is none", VERSION, "spec.contentHash", "sha256:0", "spec.contentHash", "should match"),
    Row("a hash of sources that is none", VERSION, "spec.sourceHash", "0", "spec.sourceHash", "should match"),
    Row("a claim under another name", CLAIM, "metadata.name", "orders", "metadata", "is named c-"),
    Row("a claim of nothing", CLAIM, "spec.pulsarNamespace", "", "spec.pulsarNamespace", "at least 1 char"),
]  # fmt: skip
