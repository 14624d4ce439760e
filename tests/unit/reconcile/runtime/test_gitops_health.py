"""The health that Argo CD shows of a resource. Other tests compare it with kstatus on each status that they read."""

from typing import Any

import pytest

from support.kubernetes.argo_health import argo_health, assert_tools_agree

READY = {"type": "Ready", "status": "True", "reason": "Registered", "message": "version 3"}
STALLED = {"type": "Stalled", "status": "True", "reason": "Incompatible", "message": "no default"}
RECONCILING = {**STALLED, "type": "Reconciling"}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([READY], ("Healthy", "Registered: version 3")),
        ([{**STALLED, "type": "Ready", "status": "False"}, STALLED], ("Degraded", "Incompatible: no default")),
        ([{**READY, "status": "Unknown"}, RECONCILING], ("Progressing", "Registered: version 3")),
        ([{**READY, "reason": "Suspended"}], ("Suspended", "Suspended: version 3")),
    ],
)
def test_argo_cd_shows_the_state_and_the_reason(conditions: list[dict[str, Any]], expected: tuple[str, str]) -> None:
    wire = {"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "conditions": conditions}}
    assert argo_health(wire) == expected
    assert_tools_agree(wire)
    outdated = {**wire, "metadata": {"generation": 3}}
    for waiting in (outdated, {"metadata": {"generation": 1}}):
        assert argo_health(waiting) == ("Progressing", "Waiting for the operator")
    if expected[0] != "Suspended":
        assert_tools_agree(outdated)
