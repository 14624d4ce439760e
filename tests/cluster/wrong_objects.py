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


def wrong(sentence: str, base: Json, path: str, value: Any, words: str) -> Row:
    """Return the row of a wrong member, which the refusal names."""
    return Row(sentence, base, path, value, path, words)


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
        "registry": "pulsar",
        "pulsarNamespace": "shop/orders",
        "schemaCompatibilityStrategy": "BACKWARD_TRANSITIVE",
        "strictness": "Broker",
        "constraints": {
            "allowedTypes": ["AVRO", "JSON"],
            "allowedStrategies": ["FULL"],
            "requiredProperties": ["owner"],
            "maxSchemaBytes": 262144,
            "mayRelaxValidation": True,
            "allowedDeletionPolicies": ["Retain", "Delete"],
            "exceptions": [EXCEPTION],
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
    wrong("a TopicSchema without a spec", TOPIC, "spec", ABSENT, _REQUIRED),
    wrong("no topic", TOPIC, "spec.topic", ABSENT, _REQUIRED),
    wrong("a topic that is a number", TOPIC, "spec.topic", 1, _TYPE),
    wrong("an empty topic", TOPIC, "spec.topic", "", _SPELLING),
    wrong("a topic without its domain", TOPIC, "spec.topic", "shop/orders/created", _SPELLING),
    wrong("a topic of another domain", TOPIC, "spec.topic", "http://shop/orders/created", _SPELLING),
    wrong("a scalable topic", TOPIC, "spec.topic", "topic://shop/orders/created", "scalable topics"),
    wrong("a topic in two parts", TOPIC, "spec.topic", "persistent://shop/created", _SPELLING),
    wrong("a topic with a cluster", TOPIC, "spec.topic", "persistent://shop/eu/orders/created", _SPELLING),
    wrong("a topic without its own name", TOPIC, "spec.topic", "persistent://shop/orders/", _SPELLING),
    wrong("a space in the tenant", TOPIC, "spec.topic", "persistent://s hop/orders/created", _SPELLING),
    wrong("an umlaut in the tenant", TOPIC, "spec.topic", "persistent://shöp/orders/created", _SPELLING),
    wrong("a comma in the namespace", TOPIC, "spec.topic", "persistent://shop/or,ders/created", _SPELLING),
    wrong("a space in the topic", TOPIC, "spec.topic", "persistent://shop/orders/cre ated", _SPELLING),
    wrong("a line end after it", TOPIC, "spec.topic", "persistent://shop/orders/created\n", _SPELLING),
    wrong("a NUL in the topic", TOPIC, "spec.topic", "persistent://shop/orders/cre\0ated", _SPELLING),
    wrong("an invisible character", TOPIC, "spec.topic", "persistent://shop/orders/a\u200bb", _SPELLING),
    wrong("an escape in the topic", TOPIC, "spec.topic", "persistent://shop/orders/a%2Fb", "decoded"),
    wrong("a partition", TOPIC, "spec.topic", "persistent://shop/orders/a-partition-3", "-partition-N"),
    wrong("two dots as a tenant", TOPIC, "spec.topic", "persistent://../orders/created", "no names"),
    wrong("a dot as a namespace", TOPIC, "spec.topic", "persistent://shop/./created", "no names"),
    wrong("two dots as a topic", TOPIC, "spec.topic", "persistent://shop/orders/..", "no names"),
    wrong("513 letters", TOPIC, "spec.topic", "persistent://shop/orders/" + "x" * 513, "at most 512"),
    wrong("a topic of 1,025 letters", TOPIC, "spec.topic", f"persistent://{'x' * 1008}/o/c", "Too long"),
    wrong("a type in small letters", TOPIC, "spec.type", "avro", "Pulsar has no type avro: write AVRO"),
    wrong("a customised type", TOPIC, "spec.type", "THRIFT", "Pulsar has no type THRIFT"),
    wrong("an empty type", TOPIC, "spec.type", "", "take one of AVRO"),
    wrong("type BYTES", TOPIC, "spec.type", "BYTES", "a topic of plain bytes needs no schema"),
    wrong("type NONE", TOPIC, "spec.type", "NONE", "a topic of plain bytes needs no schema"),
    wrong("type AUTO_CONSUME", TOPIC, "spec.type", "AUTO_CONSUME", "a setting of clients"),
    wrong("type AUTO_PUBLISH", TOPIC, "spec.type", "AUTO_PUBLISH", "a setting of clients"),
    wrong("type AUTO_PRODUCE", TOPIC, "spec.type", "AUTO_PRODUCE", "a setting of clients"),
    wrong("AVRO without a text", TOPIC, "spec.schema", ABSENT, "type AVRO needs the text"),
    wrong("AVRO with an empty text", TOPIC, "spec.schema", "", "type AVRO needs the text"),
    Row("JSON without a text", NUMBER, "spec.type", "JSON", "spec.schema", "type JSON needs the text"),
    wrong("a schema of 900,001 letters", TOPIC, "spec.schema", "x" * 900_001, "Too long"),
    Row("INT32 with a text", TOPIC, "spec.type", "INT32", "spec.schema", "type INT32 carries no schema"),
    wrong("INT32 with null", NUMBER, "spec.schema", "null", "type INT32 carries no schema"),
    wrong("STRING with a text", STRING, "spec.schema", '"string"', "type STRING carries no schema"),
    Row("PROTOBUF without a text", NUMBER, "spec.type", "PROTOBUF", "spec.schema", "type PROTOBUF needs the text"),
    Row("KEY_VALUE without its pair", NUMBER, "spec.type", "KEY_VALUE", "spec.keyValue", "needs keyValue"),
    wrong("KEY_VALUE with a text", PAIR, "spec.schema", "{}", "leave schema out"),
    wrong("a pair beside AVRO", TOPIC, "spec.keyValue", PAIR["spec"]["keyValue"], "KEY_VALUE only"),
    wrong("an unknown encoding", PAIR, "spec.keyValue.encoding", "BOTH", _UNSUPPORTED),
    wrong("a key of a customised type", PAIR, "spec.keyValue.key.type", "THRIFT", "Pulsar has no type THRIFT"),
    wrong("a key of type NONE", PAIR, "spec.keyValue.key.type", "NONE", "write BYTES"),
    wrong("a pair in a pair", PAIR, "spec.keyValue.key.type", "KEY_VALUE", "make it a record"),
    wrong("a key of a client's setting", PAIR, "spec.keyValue.key.type", "AUTO_CONSUME", "a setting of clients"),
    Row("an AVRO key without a text", PAIR, "spec.keyValue.key.type", "AVRO",
        "spec.keyValue.key.schema", "type AVRO needs the text"),
    Row("a PROTOBUF_NATIVE key without a text", PAIR, "spec.keyValue.key.type", "PROTOBUF_NATIVE",
        "spec.keyValue.key.schema", "type PROTOBUF_NATIVE needs the text"),
    Row("a value of bytes with a text", PAIR, "spec.keyValue.value.type", "BYTES",
        "spec.keyValue.value.schema", "type BYTES carries no schema"),
    wrong("a STRING key with a text", PAIR, "spec.keyValue.key.schema", '"string"', "type STRING carries no schema"),
    wrong("a property of the pair", PAIR, "spec.properties", {"kv.encoding.type": "INLINE"}, "made from keyValue"),
    wrong("a part's property beside it", PAIR, "spec.properties", {"value.schema.type": "AVRO"}, "made from keyValue"),
    wrong("PROTOBUF_NATIVE of nothing", PROTOBUF, "spec.protobuf", ABSENT, "needs protobuf (the source"),
    wrong("sources and envelope", PROTOBUF, "spec.schema", "{}", "leave schema out"),
    wrong("sources beside AVRO", TOPIC, "spec.protobuf", PROTOBUF["spec"]["protobuf"], "PROTOBUF_NATIVE only"),
    wrong("an empty message", PROTOBUF, "spec.protobuf.message", "", "full name"),
    wrong("a spaced message", PROTOBUF, "spec.protobuf.message", "shop Order", "full name"),
    wrong("no file at all", PROTOBUF, "spec.protobuf.files", {}, "give at least the file"),
    wrong("257 files", PROTOBUF, "spec.protobuf.files", {f"{n}.proto": "" for n in range(257)}, "Too many"),
    *(wrong(f"a file named {name!r}", PROTOBUF, "spec.protobuf.files", {name: ""}, "use the imported name")
      for name in ("a.txt", "/a.proto", "../a.proto", "a//b.proto", ".proto", "ä.proto", "a b.proto", "a.proto\n",
                   "a\\b.proto", "x" * 250 + ".proto")),
    wrong("900,001 letters in two files", PROTOBUF, "spec.protobuf.files", {"a.proto": "x" * 900_000, "b.proto": "x"},
          "all files together"),
    wrong("a property of 4,097 letters", TOPIC, "spec.properties.owner", "x" * 4097, "Too long"),
    wrong("a property without a name", TOPIC, "spec.properties", {"": "a"}, "1 to 256 characters"),
    wrong("a name of 257 letters", TOPIC, "spec.properties", {"x" * 257: "a"}, "1 to 256 characters"),
    wrong("no registry", POLICY, "spec.registry", ABSENT, _REQUIRED),
    wrong("an empty registry", POLICY, "spec.registry", "", "write the name of a SchemaRegistry"),
    wrong("a registry that has no such name", POLICY, "spec.registry", "A b", "write the name of a SchemaRegistry"),
    wrong("a namespace without tenant", POLICY, "spec.pulsarNamespace", "orders", "TENANT/"),
    wrong("a namespace in three parts", POLICY, "spec.pulsarNamespace", "a/b/c", "TENANT/"),
    wrong("a namespace with a wildcard", POLICY, "spec.pulsarNamespace", "shop/*", "TENANT/"),
    wrong("two dots as a namespace", POLICY, "spec.pulsarNamespace", "shop/..", "no names"),
    wrong("a dot as a tenant", POLICY, "spec.pulsarNamespace", "./orders", "no names"),
    wrong("an empty namespace", POLICY, "spec.pulsarNamespace", "shop/", "TENANT/"),
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
    wrong("at most 0 bytes", POLICY, "spec.constraints.maxSchemaBytes", 0, "greater than or equal to 1"),
    Row("a history under another name", HISTORY, "metadata.name", "created", "metadata", "is named h-"),
    wrong("incarnation -1", HISTORY, "spec.incarnation", -1, "greater than or equal to 0"),
    wrong("a history without its versions", HISTORY, "spec.versions", ABSENT, _REQUIRED),
    Row("a line of 141 letters", HISTORY, "spec.versions", ["x" * 141], "spec.versions[0]", "Too long"),
    wrong("10,001 lines", HISTORY, "spec.versions", [""] * 10_001, "Too many"),
    Row("a version under another name", VERSION, "metadata.name", "created", "metadata", "is named HISTORY-"),
    wrong("a version of a misnamed history", VERSION, "spec.history", "created", "should match"),
    wrong("a version without a payload", VERSION, "spec.payload", ABSENT, _REQUIRED),
    wrong("a hash that is none", VERSION, "spec.contentHash", "sha256:0", "should match"),
    wrong("a hash of sources that is none", VERSION, "spec.sourceHash", "0", "should match"),
    Row("a claim under another name", CLAIM, "metadata.name", "orders", "metadata", "is named c-"),
    wrong("a claim of nothing", CLAIM, "spec.pulsarNamespace", "", "at least 1 char"),
]  # fmt: skip
