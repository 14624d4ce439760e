"""The demo cannot rot: steps 1 to 6 on a cluster of the test run. Step 7 needs the package index, and stays outside."""

import io

import pytest

from demo import backstage, steps
from demo.narrator import Narrator
from testbed.controlplane import owned

pytestmark = pytest.mark.cluster


def test_steps_1_to_6_turn_out_as_told_also_on_what_an_earlier_run_left() -> None:
    with owned() as plane:  # its own: one step takes the webhook away from the whole cluster
        for _ in range(2):
            told = io.StringIO()
            stage = backstage.set_up(plane.instance, plane.cluster, Narrator(told))
            steps.perform(stage)
            headings = [line for line in told.getvalue().splitlines() if line.startswith("── ")]
            assert [heading[3:5] for heading in headings] == ["1.", "2.", "3.", "4.", "5.", "6."]
