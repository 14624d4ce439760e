"""The demo's steps before a real broker cannot rot; tests/cluster/test_demo.py plays the others.

A control plane of its own starts, for the demo clears away what it finds, and so only a full run has them.
"""

import io

import pytest

from demo import backstage, brokers
from demo.narrator import Narrator
from testbed.controlplane import owned
from testbed.pulsar import Pulsar

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]  # a control plane, and both courses


def test_the_steps_before_a_broker_turn_out_as_told_also_on_what_an_earlier_run_left(pulsar: Pulsar) -> None:
    with owned() as plane:
        for _ in range(2):
            told = io.StringIO()
            stage = backstage.set_up(plane.instance, plane.cluster, Narrator(told), pulsar)
            brokers.perform(stage)
            headings = [line for line in told.getvalue().splitlines() if line.startswith("── ")]
            assert [heading[3:6] for heading in headings] == ["10.", "11.", "12.", "13."]
