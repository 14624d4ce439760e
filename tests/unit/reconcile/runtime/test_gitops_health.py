"""What Argo CD and Flux call a resource. The tests of the reconciler compare the two on each status that they read."""

from typing import Any

import pytest

from support.kubernetes.argo_health import argo_health, assert_tools_agree

READY = {"type": "Ready", "status": "True", "reason": "Registered", "message": "version 3"}
INCOMPATIBLE = {"type": "Ready", "status": "False", "reason": "Incompatible", "message": "no default"}
STALLED = {**INCOMPATIBLE, "type": "Stalled", "status": "True"}
WAITING = {"type": "Ready", "status": "Unknown", "reason": "BrokerUnavailable", "message": "no answer"}
RECONCILING = {**WAITING, "type": "Reconciling", "status": "True"}


def resource(*conditions: dict[str, str], observed: int = 2) -> dict[str, Any]:
    """A resource of generation 2."""
    return {"metadata": {"generation": 2}, "status": {"observedGeneration": observed, "conditions": list(conditions)}}


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        ({"metadata": {"generation": 1}}, ("Progressing", "Waiting for the operator")),
        (resource(READY, observed=1), ("Progressing", "Waiting for the operator")),
        (resource(READY), ("Healthy", "Registered: version 3")),
        (resource(INCOMPATIBLE, STALLED), ("Degraded", "Incompatible: no default")),
        (resource(WAITING, RECONCILING), ("Progressing", "BrokerUnavailable: no answer")),
        (resource({**READY, "reason": "Suspended"}), ("Suspended", "Suspended: version 3")),
    ],
)
def test_argo_cd_shows_the_state_and_the_reason(wire: dict[str, Any], expected: tuple[str, str]) -> None:
    assert argo_health(wire) == expected
    if "status" in wire:
        assert_tools_agree(wire)
