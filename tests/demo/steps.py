"""Steps 1 to 7: the life of one topic's schema, from the first apply to a breaking change that is approved."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from demo.stage import OPERATOR_NAMESPACE, WEBHOOK_CONFIGURATION, WEBHOOK_FILE, Stage, condition

NAMESPACE = "demo-shop"
NAME = "orders-created"
_APPLY = "kubectl apply --server-side -f"
_READY = f"kubectl wait --for=condition=Ready tsc/{NAME} -n {NAMESPACE} --timeout=60s"
_GET = f"kubectl get tsc -n {NAMESPACE}"


def perform(stage: Stage) -> None:
    """Run steps 1 to 7. Raise DemoError at the first unexpected result."""
    first_version(stage)
    compatible_edit(stage)
    incompatible_edit(stage)
    webhook_switched_off(stage)
    back_to_the_first_text(stage)
    delete_and_create_again(stage)
    approved_exception(stage)


def first_version(stage: Stage) -> None:
    stage.narrator.step(
        "1. A registry, a policy and a schema",
        "The platform team's registry says who may govern what, and its policy how schemas may change. "
        "A team describes the schema of its topic. Each accepted text becomes the topic's next version.",
    )
    stage.run("cat registry.yaml")
    stage.run(f"{_APPLY} registry.yaml")
    stage.run("cat policy.yaml")
    stage.run(f"{_APPLY} policy.yaml")
    stage.run(f"kubectl wait --for=condition=Ready nsp/orders -n {NAMESPACE} --timeout=60s")
    stage.run("cat orders-created.yaml")
    stage.run(f"{_APPLY} orders-created.yaml")
    stage.run(_READY)
    stage.run(_GET)
    _claim_versions(_status(stage), current=0, count=1, stage=stage)


def compatible_edit(stage: Stage) -> None:
    stage.narrator.step(
        "2. A compatible edit",
        "A new field has a default, so the new schema reads all earlier messages. It becomes version 1.",
    )
    stage.run("diff -U1 orders-created.yaml orders-created-with-currency.yaml", fails=True)
    stage.run(f"{_APPLY} orders-created-with-currency.yaml")
    stage.run(_READY)
    stage.run(_GET)
    stage.run(f"kubectl get tsc {NAME} -n {NAMESPACE} -o yaml --show-managed-fields=false | sed -n '/^status:/,$p'")
    status = _status(stage)
    _claim_versions(status, current=1, count=2, stage=stage)
    fingerprints = {version["fingerprint"] for version in status["versions"]}
    stage.claim("each version has its own fingerprint", holds=len(fingerprints) == 2, instead=fingerprints)
    stage.claim(
        "status.upgradeFirst is Consumers, because the strategy is BACKWARD_TRANSITIVE",
        holds=status.get("upgradeFirst") == "Consumers",
        instead=status.get("upgradeFirst"),
    )


def incompatible_edit(stage: Stage) -> None:
    stage.narrator.step(
        "3. An incompatible edit",
        "A field changes its type, and a new one has no default: consumers would fail on earlier "
        "messages. The webhook rejects the edit with every reason, and nothing changes.",
    )
    before = stage.cluster.get("topicschema", NAME, "-n", NAMESPACE)
    histories = stage.histories()
    stage.run("diff -U1 orders-created-with-currency.yaml orders-created-breaking.yaml", fails=True)
    refused = stage.run(f"{_APPLY} orders-created-breaking.yaml", fails=True)
    for part, text in (
        ("rule", "TYPE_MISMATCH"),
        ("path in the schema", "$.fields[3].type.items.fields[1].type"),
        ("strategy", "BACKWARD_TRANSITIVE"),
        ("incompatible versions", "versions 0 and 1"),
    ):
        stage.claim(f"the rejection names the {part}: {text}", holds=text in refused.output, instead=refused.output)
    stage.narrator.line("\nThe same rejection as JSON, with one cause for each mistake:")
    answer = stage.run(
        f'{_APPLY} orders-created-breaking.yaml -v=9 2>&1 | grep \'"kind":"Status"\' | python3 -m json.tool'
    )
    _claim_causes(stage, json.loads(answer.output))
    after = stage.cluster.get("topicschema", NAME, "-n", NAMESPACE)
    stage.claim("the resource is unchanged", holds=before == after, instead=after.get("status"))
    stage.claim("the history is unchanged", holds=histories == stage.histories())


def webhook_switched_off(stage: Stage) -> None:
    stage.narrator.step(
        "4. The same edit without the webhook",
        "Admission can be unavailable or bypassed, so the controller judges, too. The edit is "
        "stored, but not registered.",
    )
    versions = _status(stage)["versions"]
    with without_webhook(stage):
        stage.run(f"{_APPLY} orders-created-breaking.yaml")
        stage.run(f"kubectl wait --for=condition=Stalled tsc/{NAME} -n {NAMESPACE} --timeout=60s")
        stage.run(_READY.replace("60s", "2s"), fails=True)
        stage.run(_GET)
        _claim_stalled(stage, versions)
    stage.narrator.line("\nThe webhook is back, and the edit is corrected:")
    stage.run(f"{_APPLY} orders-created-with-currency.yaml")
    stage.run(_READY)
    _claim_versions(_status(stage), current=1, count=2, stage=stage)


def back_to_the_first_text(stage: Stage) -> None:
    stage.narrator.step(
        "5. A rollback to version 0",
        "The text is that of version 0. So the resource is at version 0 again, the topic's latest "
        "version stays 1, and no version is added.",
    )
    stage.run(f"{_APPLY} orders-created.yaml")
    stage.run(_READY)
    stage.run(_GET)
    status = _status(stage)
    values = (status.get("schemaVersion"), status.get("latestSchemaVersion"), condition(status, "Ready").get("reason"))
    expected = (0, 1, "RolledBack")
    stage.claim(
        "schemaVersion is 0, latestSchemaVersion is 1, the reason is RolledBack",
        holds=values == expected,
        instead=values,
    )
    stage.claim("there are still two versions", holds=status["versionCount"] == 2, instead=status["versionCount"])


def delete_and_create_again(stage: Stage) -> None:
    stage.narrator.step(
        "6. Delete and create again",
        "Versions belong to the topic, not to the resource. The history outlives the resource, and "
        "numbering continues.",
    )
    stage.run(f"kubectl delete tsc {NAME} -n {NAMESPACE}")
    stage.run(f"kubectl get schemahistories,schemaversions -n {OPERATOR_NAMESPACE}")
    stage.claim("the history still exists", holds=bool(stage.histories()))
    stage.run("diff -U1 orders-created-with-currency.yaml orders-created-with-gift-note.yaml", fails=True)
    stage.run(f"{_APPLY} orders-created-with-gift-note.yaml")
    stage.run(_READY)
    stage.run(_GET)
    _claim_versions(_status(stage), current=2, count=3, stage=stage)


def approved_exception(stage: Stage) -> None:
    stage.narrator.step(
        "7. An approved exception",
        "The breaking edit of step 3 is needed after all. The team may not choose a weaker strategy, "
        "until the platform team approves an exception, which ends by itself.",
    )
    stage.run("diff -U1 orders-created-breaking.yaml orders-created-approved.yaml", fails=True)
    refused = stage.run(f"{_APPLY} orders-created-approved.yaml", fails=True)
    stage.claim("the webhook rejects it", holds="STRATEGY_NOT_ALLOWED" in refused.output, instead=refused.output)
    stage.run("diff -U1 policy.yaml policy-with-exception.yaml", fails=True)
    stage.run(f"{_APPLY} policy-with-exception.yaml")
    stage.run(f"{_APPLY} orders-created-approved.yaml")
    stage.run(_READY)
    stage.run(_GET)
    _claim_versions(_status(stage), current=3, count=4, stage=stage)
    message = condition(_status(stage), "Compatible").get("message", "")
    stage.claim("the condition Compatible names the exception", holds="2099-12-31" in message, instead=message)
    query = ("events", "-n", NAMESPACE, "--field-selector", "reason=ExceptionUsed")
    stage.narrator.claim_soon("an Event reports its use", lambda: stage.cluster.get(*query)["items"])


@contextlib.contextmanager
def without_webhook(stage: Stage) -> Iterator[None]:
    """Delete the webhook's configuration, and restore it at the end."""
    stage.run(f"kubectl delete validatingwebhookconfiguration {WEBHOOK_CONFIGURATION}")
    try:
        yield
    finally:
        stage.run(f"{_APPLY} {WEBHOOK_FILE}")


def _status(stage: Stage) -> dict[str, Any]:
    return stage.status(NAMESPACE, NAME)


def _claim_versions(status: dict[str, Any], current: int, count: int, stage: Stage) -> None:
    stage.claim(
        f"the schema is version {current}, and the topic has {count} version{'s'[: count > 1]}",
        holds=(status.get("schemaVersion"), status.get("versionCount")) == (current, count),
        instead=status,
    )
    numbers = [version["schemaVersion"] for version in status["versions"]]
    stage.claim(f"the status lists version{'s'[: count > 1]} {numbers}", holds=numbers == list(range(count)))


def _claim_causes(stage: Stage, answer: dict[str, Any]) -> None:
    causes = answer["details"]["causes"]
    stage.claim("the response is 422 Invalid", holds=(answer["code"], answer["reason"]) == (422, "Invalid"))
    stage.claim(f"details.causes has an entry for each of the {len(causes)} mistakes", holds=len(causes) == 2)
    named = all("messages of versions 0 and 1" in cause["message"] for cause in causes)
    stage.claim("each names both versions", holds=named, instead=causes)
    complete = all("$.fields[" in cause["message"] and "BACKWARD_TRANSITIVE" in cause["message"] for cause in causes)
    stage.claim("each names the path in the schema and the strategy", holds=complete, instead=causes)


def _claim_stalled(stage: Stage, versions: list[dict[str, Any]]) -> None:
    status = _status(stage)
    ready, stalled = condition(status, "Ready"), condition(status, "Stalled")
    values = (ready.get("status"), ready.get("reason"), stalled.get("status"))
    expected = ("False", "Incompatible", "True")
    stage.claim(
        "Ready is False with the reason Incompatible, and Stalled is True", holds=values == expected, instead=values
    )
    stage.claim("the versions are unchanged", holds=status["versions"] == versions, instead=status["versions"])
    query = ("events", "-n", NAMESPACE, "--field-selector", "reason=Incompatible")
    stage.narrator.claim_soon("an Event reports the reason", lambda: stage.cluster.get(*query)["items"])
    stage.run(f"kubectl get events -n {NAMESPACE} --field-selector reason=Incompatible")
