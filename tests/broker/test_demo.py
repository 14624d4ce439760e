"""Steps of the demo that have a broker. cluster/test_demo.py plays the others.

A control plane of its own starts, for the demo removes what is there, and so only a full run has them.
"""

import io

import pytest

from demo import backstage, brokers
from demo.narrator import Narrator
from testbed.controlplane import owned
from testbed.pulsar import Pulsar

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]  # a control plane, and both courses


def test_the_steps_with_a_broker_have_the_expected_results_also_after_an_earlier_run(pulsar: Pulsar) -> None:
    with owned() as plane:
        for _ in range(2):
            output = io.StringIO()
            stage = backstage.set_up(plane.instance, plane.cluster, Narrator(output), pulsar)
            brokers.perform(stage)
            headings = [line for line in output.getvalue().splitlines() if line.startswith("── ")]
            assert [heading[3:6] for heading in headings] == ["11.", "12.", "13.", "14.", "15."]
