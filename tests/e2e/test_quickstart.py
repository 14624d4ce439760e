"""The steps of the quick start, and the commands that it prints to try next, on the operator of the chart.

It takes some dozen commands of kubectl.
"""

import io

import pytest

from demo import quickstart
from demo.narrator import Narrator
from support.kubernetes.pods import Pods
from testbed.paths import REPOSITORY


@pytest.mark.full
def test_the_steps_of_the_quick_start_have_the_announced_results(operator: Pods) -> None:
    narrator, environment = Narrator(io.StringIO()), operator.cluster.environment()
    try:
        quickstart.run_steps(narrator, environment)
        accepted, *others = [narrator.run(line, REPOSITORY, environment).output for _, line in quickstart.NEXT]
    finally:
        operator.cluster.kubectl("delete", "namespace", "shop", "--wait=false")
        operator.cluster.kubectl("delete", "schemaregistry", "quickstart", "--ignore-not-found")

    assert "orders-created serverside-applied" in accepted
    assert all(others)
