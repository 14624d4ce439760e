"""The operator's response as people get it: kubectl in front, webhook and controller behind it as processes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from broker.histories import forms
from broker.histories.generator import History
from broker.histories.operator_side import Ours, rules_in
from support.kubernetes.watched_namespace import conditions, until
from support.pulsar.brokered_namespace import BrokeredShop
from testbed.cluster import Cluster
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy

_REFUSED: Final = re.compile(r"is refused: (?P<why>.*)")


@dataclass(frozen=True, slots=True)
class KubectlSide:
    """The namespaces by their strategies."""

    cluster: Cluster
    shops: Mapping[Strategy, BrokeredShop]

    async def apply(self, edits: Mapping[str, tuple[History, SchemaInfo]]) -> dict[str, Ours]:
        """Apply all edits in one `kubectl apply --server-side`. Return each response by its history's name."""
        objects = [self._object(history, info) for history, info in edits.values()]
        wire = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        done = self.cluster.try_kubectl("apply", "--server-side", "-f", "-", stdin=wire)
        refused = {name: line for line in done.stderr.splitlines() for name in edits if f"{name}' " in _quoted(line)}
        assert (done.returncode != 0) is bool(refused), done.stderr
        return {
            name: self._refusal(refused[name], history) if name in refused else await self._settled(history)
            for name, (history, _) in edits.items()
        }

    def _object(self, history: History, info: SchemaInfo) -> dict[str, Any]:
        applied = self.shops[history.strategy].watched.topic("", history.name)
        return {**applied, "spec": {"topic": applied["spec"]["topic"], **forms.spec(info)}}

    def _refusal(self, line: str, history: History) -> Ours:
        match = _REFUSED.search(line)
        if match is None:
            return Ours(text=line)
        why = match["why"]
        strategy = Strategy.FULL if history.strategy is Strategy.UNDEFINED else history.strategy
        reason = "Incompatible" if f"{strategy} (" in why or "INVALID_HISTORY" in why else "InvalidSchema"
        return Ours(None, reason, rules_in(why), text=why)

    async def _settled(self, history: History) -> Ours:
        """Return the status of this generation once the controller has settled it."""

        def is_settled(wire: dict[str, Any]) -> bool:
            current = conditions(wire.get("status", {}))
            return (
                "Reconciling" not in current
                and current.get("Ready", {}).get("observedGeneration") == wire["metadata"]["generation"]
            )

        watched = self.shops[history.strategy].watched
        status = (await until(lambda: watched.get(history.name), is_settled))["status"]
        ready = conditions(status)["Ready"]
        version = status["schemaVersion"] if ready["status"] == "True" else None
        return Ours(version, ready["reason"] if version is not None else "Admitted", text=ready["message"])


def _quoted(line: str) -> str:
    """Return the line with one kind of quotation marks, a space behind each: kubectl's own and the webhook's differ."""
    return line.replace('"', "'").replace("'", "' ")
