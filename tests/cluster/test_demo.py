"""The demo cannot rot: all its steps but step 7, which needs the package index, on a cluster of the test run.

The second course, on what the first one left, belongs to a full run.
The demo runs some dozens of commands, for half a minute.
"""

import io

import pytest

from demo import backstage, kinds, steps
from demo.narrator import Narrator
from support.sizes import sized
from testbed.controlplane import owned

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]  # a control plane, and each course is the whole demo


def test_the_steps_turn_out_as_told_also_on_what_an_earlier_run_left() -> None:
    with owned() as plane:  # its own: one step takes the webhook away from the whole cluster
        for _ in range(sized(1, 2)):
            told = io.StringIO()
            stage = backstage.set_up(plane.instance, plane.cluster, Narrator(told))
            steps.perform(stage)
            kinds.perform(stage)
            headings = [line for line in told.getvalue().splitlines() if line.startswith("── ")]
            assert [heading[3:5] for heading in headings] == ["1.", "2.", "3.", "4.", "5.", "6.", "8.", "9."]
