"""The health that Argo CD computes for a resource, by the script in docs/gitops.md."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lupa import LuaRuntime

from support.kubernetes.kstatus import kstatus

_PAGE = Path(__file__).parents[3] / "docs" / "gitops.md"


@cache
def _runtime() -> tuple[LuaRuntime, Any]:
    runtime = LuaRuntime(unpack_returned_tuples=True)
    (script,) = re.findall(r"```lua\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return runtime, runtime.eval(f"function(obj)\n{script}\nend")


def argo_health(wire: Mapping[str, Any]) -> tuple[str, str]:
    """Return the status (Healthy, Progressing, Degraded or Suspended) and the message."""
    runtime, script = _runtime()
    health = script(runtime.table_from(wire, recursive=True))
    return health["status"], health["message"]


def assert_tools_agree(wire: Mapping[str, Any]) -> None:
    """Check that Argo CD, by our script, and Flux, by kstatus, report the same health.

    Argo CD runs no script for a resource that is being deleted.
    """
    if kstatus(wire) == "Terminating":
        return
    health, message = argo_health(wire)
    ready = next((each for each in wire["status"].get("conditions", ()) if each["type"] == "Ready"), None)
    expected = {"Current": "Healthy", "Failed": "Degraded", "InProgress": "Progressing"}[kstatus(wire)]
    if ready is not None and ready["reason"] == "Suspended":
        expected = "Suspended"
    assert health == expected, (message, wire["status"])
