"""The status that kstatus computes for a custom resource. Flux and Helm wait for it.

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
    statuses = {each["type"]: each["status"] for each in status.get("conditions", ())}
    if statuses.get("Reconciling") == "True":
        return "InProgress"
    if statuses.get("Stalled") == "True":
        return "Failed"
    return "InProgress" if statuses.get("Ready") in ("False", "Unknown") else "Current"
