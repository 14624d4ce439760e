"""Objects and edits that the API server must accept: the right versions of the wrong ones."""

from cluster.wrong_objects import (
    ABSENT,
    CLAIM,
    EXCEPTION,
    HISTORY,
    NUMBER,
    PAIR,
    POLICY,
    PROTOBUF,
    STRING,
    TOPIC,
    Row,
)
from topicschema.api.schemas import AVAILABLE_TYPES, PART_TYPES
from topicschema.core.schemas import PRIMITIVES
from topicschema.core.strategies import Strategy

RIGHT = [
    Row("a TopicSchema with every field", TOPIC, "spec.suspend", value=True),
    Row("a property of 4,096 letters", TOPIC, "spec.properties.owner", "x" * 4096),
    Row("a name of 256 letters", TOPIC, "spec.properties", {"x" * 256: "a"}),
    Row("a text that only the webhook can refuse", TOPIC, "spec.schema", "not a schema"),
    Row("a schema of 900,000 letters", TOPIC, "spec.schema", "x" * 900_000),
    Row("a topic that is not persistent", TOPIC, "spec.topic", "non-persistent://shop/orders/created"),
    Row("every letter a tenant may have", TOPIC, "spec.topic", "persistent://a-=:._9/or:ders/created"),
    Row("an umlaut in the topic's own name", TOPIC, "spec.topic", "persistent://shop/orders/für-Größen"),
    Row("an emoji in the topic's own name", TOPIC, "spec.topic", "persistent://shop/orders/🛒"),
    Row("three dots and more", TOPIC, "spec.topic", "persistent://.../.a/..b"),
    Row("a percent sign that escapes nothing", TOPIC, "spec.topic", "persistent://shop/orders/100%-sure"),
    Row("512 letters", TOPIC, "spec.topic", "persistent://shop/orders/" + "x" * 512),
    Row("a partition's name in the middle", TOPIC, "spec.topic", "persistent://shop/orders/x-partition-1-y"),
    Row("STRING without a text", STRING, "metadata.labels", {}),
    Row("STRING with an empty text", STRING, "spec.schema", ""),
    Row("STRING with null", STRING, "spec.schema", "null"),
    Row("INT32 with an empty text", NUMBER, "spec.schema", ""),
    *(Row(f"strategy {each}", TOPIC, "spec.schemaCompatibilityStrategy", each.value) for each in Strategy),
    *(Row(f"type {each}", NUMBER, "spec.type", each.value) for each in AVAILABLE_TYPES if each in PRIMITIVES),
    *(Row(f"type {each}", TOPIC, "spec.type", each) for each in ("JSON", "PROTOBUF", "PROTOBUF_NATIVE")),
    Row("STRING with a charset", STRING, "spec.properties", {"__charset": "UTF-16"}),
    Row("an empty text beside a pair", PAIR, "spec.schema", ""),
    Row("a pair with its key in the payload", PAIR, "spec.keyValue.encoding", "INLINE"),
    *(
        Row(f"a key of type {each}", PAIR, "spec.keyValue.key", {"type": each.value, "schema": text})
        for each in PART_TYPES
        for text in (("",) if each in PRIMITIVES or each == "BYTES" else ("{}",))
    ),
    Row("a STRING key with null", PAIR, "spec.keyValue.key.schema", "null"),
    Row("a pair of two large texts", PAIR, "spec.keyValue.value.schema", "x" * 900_000),
    Row("protobuf's sources", PROTOBUF, "spec.suspend", value=False),
    Row("a message with a leading dot", PROTOBUF, "spec.protobuf.message", ".shop.Order.Line"),
    Row("256 files", PROTOBUF, "spec.protobuf.files", {f"a/b-{n}/c.d.proto": "" for n in range(256)}),
    Row("64 large files", PROTOBUF, "spec.protobuf.files", {f"{n}.proto": "x" * 14_000 for n in range(64)}),
    Row("a policy with every field", POLICY, "spec.strictness", "Broker"),
    Row("every type allowed", POLICY, "spec.constraints.allowedTypes", [each.value for each in AVAILABLE_TYPES]),
    Row(
        "exceptions until a day and a time",
        POLICY,
        "spec.constraints.exceptions",
        [EXCEPTION, {**EXCEPTION, "topic": "deleted", "until": "2026-12-31T18:00:00Z"}],
    ),
    Row("every strategy allowed", POLICY, "spec.constraints.allowedStrategies", [each.value for each in Strategy]),
    Row("a history", HISTORY, "spec.incarnation", 7),
    Row("an empty history", HISTORY, "spec.versions", []),
    Row(
        "a history with deleted versions",
        HISTORY,
        "spec.deleted",
        [{"incarnation": 0, "versions": HISTORY["spec"]["versions"]}],
    ),
]

RIGHT_EDITS = [
    Row("another schema", TOPIC, "spec.schema", '"string"'),
    Row("another type", TOPIC, "spec.type", "JSON"),
    Row("another file", PROTOBUF, "spec.protobuf.files", {"b.proto": ""}),
    Row("a history that goes on", HISTORY, "spec.versions", HISTORY["spec"]["versions"] * 2),
    Row("a history given up", HISTORY, "spec.claim", ABSENT),
    Row("a claim given up", CLAIM, "spec.owner", ABSENT),
]
