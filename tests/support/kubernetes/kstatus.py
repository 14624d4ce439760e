"""The status that kstatus computes for a custom resource: the rule of its generic status, which Flux and Helm wait by.

The library is sigs.k8s.io/cli-utils/pkg/kstatus (`GetStandardConditions`, `checkGenericProperties`).
"""

from collections.abc import Mapping
from typing import Any


def kstatus(wire: Mapping[str, Any]) -> str:
    """Return Terminating, InProgress, Failed or Current."""
    metadata, status = wire["metadata"], wire.get("status", {})
    if metadata.get("deletionTimestamp"):
        return "Terminating"
    if status.get("observedGeneration", metadata["generation"]) != metadata["generation"]:
        return "InProgress"
    said = {each["type"]: each["status"] for each in status.get("conditions", ())}
    if said.get("Reconciling") == "True":
        return "InProgress"
    if said.get("Stalled") == "True":
        return "Failed"
    return "InProgress" if said.get("Ready") in ("False", "Unknown") else "Current"
