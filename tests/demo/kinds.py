"""Steps 9 and 10: a pair, a schema from protobuf sources, and edits that the broker accepts and consumers fail on."""

from demo.stage import Stage, condition

NAMESPACE = "demo-parcels"
PAIR, SENT = "parcel-status", "parcel-sent"
_APPLY = "kubectl apply --server-side -f"
_READY = f"kubectl wait --for=condition=Ready tsc/{PAIR} tsc/{SENT} -n {NAMESPACE} --timeout=60s"


def perform(stage: Stage) -> None:
    """Run steps 9 and 10. Raise DemoError at the first unexpected result."""
    pair_and_sources(stage)
    accepted_risks(stage)


def pair_and_sources(stage: Stage) -> None:
    stage.narrator.step(
        "9. KEY_VALUE, and protobuf from sources",
        "A KEY_VALUE topic has a schema for each part. For PROTOBUF_NATIVE you write the .proto "
        "files, and the operator compiles them to what a Java producer would send.",
    )
    stage.run(f"{_APPLY} parcels-policy.yaml")
    stage.run(f"kubectl wait --for=condition=Ready nsp/parcels -n {NAMESPACE} --timeout=60s")
    stage.run("cat parcel-status.yaml")
    stage.run(f"{_APPLY} parcel-status.yaml")
    refused = stage.run(f"{_APPLY} parcel-status-breaking.yaml", fails=True)
    path = "$.value.fields[1].type"
    stage.claim(f"the rejection names the path in the pair: {path}", holds=path in refused.output)
    stage.run("cat parcel-sent.yaml")
    stage.run(f"{_APPLY} parcel-sent.yaml")
    stage.run(_READY)
    stage.run("diff -U1 parcel-sent.yaml parcel-sent-with-weight.yaml", fails=True)
    stage.run(f"{_APPLY} parcel-sent-with-weight.yaml")
    stage.run(_READY)
    stage.run(f"kubectl get tsc -n {NAMESPACE}")
    _claim_version(stage, PAIR, 0)
    _claim_version(stage, SENT, 1)


def accepted_risks(stage: Stage) -> None:
    stage.narrator.step(
        "10. Risks that the broker accepts",
        "For protobuf, the broker compares only the name of the root message. It accepts an edit "
        "that gives a field's number to another field. The operator accepts it, too. kubectl, the "
        "status and an Event warn of the effect on consumers.",
    )
    stage.run("diff -U1 parcel-sent-with-weight.yaml parcel-sent-reused-number.yaml", fails=True)
    warned = stage.run(f"{_APPLY} parcel-sent-reused-number.yaml 2>&1")
    stage.claim("kubectl shows a warning", holds="Warning:" in warned.output, instead=warned.output)
    stage.run(_READY)
    _claim_version(stage, SENT, 2)
    compatible = condition(stage.status(NAMESPACE, SENT), "Compatible")
    values = (compatible.get("status"), compatible.get("reason"))
    stage.claim(
        "Compatible is True, with the reason ConsumerRisk", holds=values == ("True", "ConsumerRisk"), instead=values
    )
    query = ("events", "-n", NAMESPACE, "--field-selector", "reason=ConsumerRisk")
    stage.narrator.claim_soon("an Event reports the risk, too", lambda: stage.cluster.get(*query)["items"])
    stage.run(f"kubectl get events -n {NAMESPACE} --field-selector reason=ConsumerRisk")
    stage.narrator.line("\nA policy with strictness Strict rejects such edits. The next edit changes a field's type:")
    stage.run("diff -U1 parcels-policy.yaml parcels-policy-strict.yaml", fails=True)
    stage.run(f"{_APPLY} parcels-policy-strict.yaml")
    stage.run(f"kubectl wait --for=condition=Ready nsp/parcels -n {NAMESPACE} --timeout=60s")
    stage.run(f"{_APPLY} parcel-sent-retyped.yaml", fails=True)
    _claim_version(stage, SENT, 2)


def _claim_version(stage: Stage, name: str, number: int) -> None:
    version = stage.status(NAMESPACE, name).get("schemaVersion")
    stage.claim(f"{name} is version {number}", holds=version == number, instead=version)
