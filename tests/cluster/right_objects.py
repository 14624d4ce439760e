"""Objects and edits that the API server must take: the right neighbours of the wrong ones."""

from cluster.wrong_objects import ABSENT, CLAIM, HISTORY, NUMBER, POLICY, STRING, TOPIC, VERSION, Row
from topicschema.api.topicschemas import AVAILABLE_TYPES
from topicschema.core.strategies import Strategy

RIGHT = [
    Row("a TopicSchema with every field", TOPIC, "spec.suspend", value=True),
    Row("no properties", TOPIC, "spec.properties", ABSENT),
    Row("64 properties", TOPIC, "spec.properties", {f"p{n}": "" for n in range(64)}),
    Row("a property of 4,096 letters", TOPIC, "spec.properties.owner", "x" * 4096),
    Row("a name of 256 letters", TOPIC, "spec.properties", {"x" * 256: "a"}),
    Row("no strategy", TOPIC, "spec.schemaCompatibilityStrategy", ABSENT),
    Row("deletion policy Delete", TOPIC, "spec.deletionPolicy", "Delete"),
    Row("a text that only the webhook can refuse", TOPIC, "spec.schema", "not a schema"),
    Row("a schema of 900,000 letters", TOPIC, "spec.schema", "x" * 900_000),
    Row("a topic that is not persistent", TOPIC, "spec.topic", "non-persistent://shop/orders/created"),
    Row("every letter a tenant may have", TOPIC, "spec.topic", "persistent://a-=:._9/or:ders/created"),
    Row("an umlaut in the topic's own name", TOPIC, "spec.topic", "persistent://shop/orders/für-Größen"),
    Row("an emoji in the topic's own name", TOPIC, "spec.topic", "persistent://shop/orders/🛒"),
    Row("a percent sign that escapes nothing", TOPIC, "spec.topic", "persistent://shop/orders/100%-sure"),
    Row("512 letters", TOPIC, "spec.topic", "persistent://shop/orders/" + "x" * 512),
    Row("a partition's name in the middle", TOPIC, "spec.topic", "persistent://shop/orders/x-partition-1-y"),
    Row("STRING without a text", STRING, "metadata.labels", {}),
    Row("STRING with an empty text", STRING, "spec.schema", ""),
    Row("STRING with null", STRING, "spec.schema", "null"),
    Row("INT32 with an empty text", NUMBER, "spec.schema", ""),
    *(Row(f"strategy {each}", TOPIC, "spec.schemaCompatibilityStrategy", each.value) for each in Strategy),
    *(Row(f"type {each}", NUMBER, "spec.type", each.value) for each in AVAILABLE_TYPES[2:]),
    Row("type JSON", TOPIC, "spec.type", "JSON"),
    Row("a policy with every field", POLICY, "spec.strictness", "Broker"),
    Row("a strict policy", POLICY, "spec.strictness", "Strict"),
    Row("a policy without strategy", POLICY, "spec.schemaCompatibilityStrategy", ABSENT),
    Row("a policy without profile", POLICY, "spec.brokerProfile", ABSENT),
    Row("an empty profile", POLICY, "spec.brokerProfile", {}),
    Row("a policy without constraints", POLICY, "spec.constraints", ABSENT),
    Row("empty constraints", POLICY, "spec.constraints", {}),
    Row("every type allowed", POLICY, "spec.constraints.allowedTypes", [each.value for each in AVAILABLE_TYPES]),
    Row("every strategy allowed", POLICY, "spec.constraints.allowedStrategies", [each.value for each in Strategy]),
    Row("at most one byte", POLICY, "spec.constraints.maxSchemaBytes", 1),
    Row("a history", HISTORY, "spec.incarnation", 7),
    Row("a history that nobody claims", HISTORY, "spec.claim", ABSENT),
    Row("an empty history", HISTORY, "spec.versions", []),
    Row("a version", VERSION, "metadata.labels", {"a": "b"}),
    Row("a version without properties", VERSION, "spec.properties", ABSENT),
    Row("a claim", CLAIM, "metadata.labels", {"a": "b"}),
    Row("a free claim", CLAIM, "spec.owner", ABSENT),
]

RIGHT_EDITS = [
    Row("another schema", TOPIC, "spec.schema", '"string"'),
    Row("another type", TOPIC, "spec.type", "JSON"),
    Row("another strategy of the policy", POLICY, "spec.schemaCompatibilityStrategy", "FULL"),
    Row("no strategy any more", POLICY, "spec.schemaCompatibilityStrategy", ABSENT),
    Row("a history that goes on", HISTORY, "spec.versions", HISTORY["spec"]["versions"] * 2),
    Row("a history given up", HISTORY, "spec.claim", ABSENT),
    Row("a version with a label", VERSION, "metadata.labels", {"a": "b"}),
    Row("a claim given up", CLAIM, "spec.owner", ABSENT),
]
