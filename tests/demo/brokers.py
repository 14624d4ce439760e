"""Steps 11 to 15, with a real broker: registration, adoption, rollback, the lock and an audit.

They need Java and Maven's jars, or a broker that PULSAR_ADMIN_URL and PULSAR_SERVICE_URL name.
"""

from demo.errors import DemoError
from demo.stage import Stage, condition
from testbed import brokers, packages
from testbed.errors import TestbedError
from testbed.progress import Progress
from testbed.pulsar import Pulsar

NAMESPACE = "demo-sales"
_PULSAR_NAMESPACE = "shop/sales"
_PLACED, _REFUNDED = "sales-placed", "sales-refunded"
_APPLY = "kubectl apply --server-side -f"
_REGISTRY = "sales-registry.yaml"


def why_absent() -> str | None:
    """Return why this machine cannot run these steps; None if it can."""
    try:
        brokers.prepare(Progress(), often=False)
    except TestbedError as error:
        return str(error)
    return None


def skip(stage: Stage, reason: str) -> None:
    """Print that the steps are skipped, and why."""
    stage.narrator.step("Steps 11 to 15 are skipped", f"They need a real broker, and there is none: {reason}.")


def perform(stage: Stage) -> None:
    """Run steps 11 to 15. Raise DemoError at the first unexpected result."""
    pulsar = _broker(stage)
    _clear(pulsar)
    file = stage.folder / _REGISTRY
    text = file.read_text(encoding="utf-8")
    text = text.replace("PULSAR_ADMIN_URL", pulsar.admin_url).replace("PULSAR_SERVICE_URL", pulsar.service_url)
    file.write_text(text, encoding="utf-8")
    register(stage)
    adopt(stage)
    roll_back(stage)
    lock_topics(stage)
    if packages.missing(packages.SPARK):
        stage.narrator.step("Step 15 is skipped", "Spark audits the messages of the topics. It needs Java.")
    else:
        audit_topics(stage)


def register(stage: Stage) -> None:
    stage.narrator.step(
        "11. Register at a real broker",
        "This registry names a broker. The operator registers accepted schemas there, and the broker "
        "assigns the version numbers. A rejected schema never reaches the broker.",
    )
    stage.run(f"cat {_REGISTRY}")
    stage.run(f"{_APPLY} {_REGISTRY}")
    stage.run("kubectl wait --for=condition=Ready sreg/demo-broker --timeout=60s")
    stage.run("kubectl get sreg")
    stage.run("cat sales-policy.yaml")
    stage.run(f"{_APPLY} sales-policy.yaml")
    _wait_for_policy(stage)
    stage.run(f"{_APPLY} sales-placed.yaml")
    _wait_for(stage, _PLACED)
    stage.run("curl -s $SCHEMAS/placed/schema")
    _claim_versions(stage, "placed", [0])
    stage.run(f"{_APPLY} sales-placed-breaking.yaml", fails=True)
    stage.run(f"{_APPLY} sales-placed-with-note.yaml")
    _wait_for(stage, _PLACED)
    _claim_versions(stage, "placed", [0, 1])


def adopt(stage: Stage) -> None:
    stage.narrator.step(
        "12. Adopt an existing schema",
        "On this topic a producer registered its schema first. The operator stores "
        "that version as history, and judges the TopicSchema against it.",
    )
    stage.run("python3 produce.py refunded refunded.avsc")
    _claim_versions(stage, "refunded", [0])
    stage.run(f"{_APPLY} sales-refunded.yaml")
    _wait_for(stage, _REFUNDED)
    stage.run(f"kubectl get tsc -n {NAMESPACE}")
    origins = [(entry["schemaVersion"], entry["origin"]) for entry in stage.status(NAMESPACE, _REFUNDED)["versions"]]
    expected = [(0, "Broker"), (1, "Spec")]
    stage.claim("version 0 is from the producer, version 1 is from Git", holds=origins == expected, instead=origins)
    _claim_versions(stage, "refunded", [0, 1])


def roll_back(stage: Stage) -> None:
    stage.narrator.step(
        "13. Roll back at the broker",
        "The broker finds the text among its versions. The topic's latest version does not change.",
    )
    stage.run(f"{_APPLY} sales-placed.yaml")
    _wait_for(stage, _PLACED)
    status = stage.status(NAMESPACE, _PLACED)
    ready = condition(status, "Ready")
    versions = (status.get("schemaVersion"), status.get("latestSchemaVersion"), ready.get("reason"))
    stage.claim(
        "schemaVersion is 0, latestSchemaVersion is 1, the reason is RolledBack",
        holds=versions == (0, 1, "RolledBack"),
        instead=versions,
    )
    stage.narrator.note(str(ready.get("message", "")))
    _claim_versions(stage, "placed", [0, 1])
    stage.run(f"{_APPLY} sales-placed-with-note.yaml")
    _wait_for(stage, _PLACED)


def lock_topics(stage: Stage) -> None:
    stage.narrator.step(
        "14. Lock the topics",
        "One line in the policy stops clients from adding schemas. A producer with a schema from Git "
        "can connect. A producer whose schema has an unreviewed field cannot. A consumer can connect "
        "if its schema reads the latest version.",
    )
    stage.run("diff -U1 sales-policy.yaml sales-policy-locked.yaml", fails=True)
    stage.run(f"{_APPLY} sales-policy-locked.yaml")
    _wait_for_policy(stage)
    stage.run("cat produce.py")
    stage.run("python3 produce.py placed placed-with-note.avsc")
    refused = stage.run("python3 produce.py placed placed-with-coupon.avsc", fails=True)
    is_incompatible = "IncompatibleSchema" in refused.output
    stage.claim("the broker refuses the producer: IncompatibleSchema", holds=is_incompatible, instead=refused.output)
    stage.narrator.line("\nA consumer connects, and reads messages of the version that the operator registered:")
    received = stage.run("python3 consume.py placed placed-with-note.avsc")
    stage.claim("the message carries version 1", holds="with version 1" in received.output, instead=received.output)
    stage.narrator.line(
        "\nA consumer cannot connect if its schema has a field that the messages lack, without a default:"
    )
    refused = stage.run("python3 consume.py placed placed-with-invoice.avsc", fails=True)
    is_incompatible = "IncompatibleSchema" in refused.output
    stage.claim("the broker refuses the consumer: IncompatibleSchema", holds=is_incompatible, instead=refused.output)
    _claim_versions(stage, "placed", [0, 1])


def audit_topics(stage: Stage) -> None:
    stage.narrator.step(
        "15. Audit the messages",
        "A lock does not stop a producer whose encoder has a bug. Spark reads all retained messages of the topics with "
        "their current schemas, and writes tables.",
    )
    stage.run("python3 produce_truncated.py placed placed-with-note.avsc")
    audit = stage.run(f"topicschema audit --registry-file {_REGISTRY} --namespace {_PULSAR_NAMESPACE} --output audit")
    is_reported = (
        "2 topics, 3 messages, 1 of them with a fault" in audit.output and "TRUNCATED at $.note" in audit.output
    )
    stage.claim("one message of topic placed cannot be read: TRUNCATED", holds=is_reported, instead=audit.output)


def _broker(stage: Stage) -> Pulsar:
    if stage.pulsar is None:
        raise DemoError("the stage has no broker")
    return stage.pulsar


def _clear(pulsar: Pulsar) -> None:
    """Delete what an earlier run left in the Pulsar namespace, and create it."""
    pulsar.request("PUT", "/tenants/shop", {"allowedClusters": pulsar.call("GET", "/clusters")})
    for topic in ("placed", "refunded"):
        pulsar.request("DELETE", f"/persistent/{_PULSAR_NAMESPACE}/{topic}?force=true")
        pulsar.request("DELETE", f"/schemas/{_PULSAR_NAMESPACE}/{topic}/schema?force=true")
    pulsar.request("DELETE", f"/namespaces/{_PULSAR_NAMESPACE}")
    pulsar.call("PUT", f"/namespaces/{_PULSAR_NAMESPACE}")


def _wait_for_policy(stage: Stage) -> None:
    stage.run(f"kubectl wait --for=condition=Ready nsp/sales -n {NAMESPACE} --timeout=60s")


def _wait_for(stage: Stage, name: str) -> None:
    stage.run(f"kubectl wait --for=condition=Ready tsc/{name} -n {NAMESPACE} --timeout=60s")


def _claim_versions(stage: Stage, topic: str, numbers: list[int]) -> None:
    responses = _broker(stage).call("GET", f"/schemas/{_PULSAR_NAMESPACE}/{topic}/schemas")["getSchemaResponses"]
    versions = [entry["version"] for entry in responses]
    stage.claim(
        f"the broker has version{'s'[: len(numbers) > 1]} {numbers}", holds=versions == numbers, instead=versions
    )
