"""The demo's steps on a cluster of the test run, all but step 8, which needs the package index.

A second run of the steps, after the first one, belongs to a full run.
The demo runs some dozens of commands, for half a minute.
"""

import io

import pytest

from demo import backstage, kinds, steps
from demo.narrator import Narrator
from support.sizes import sized
from testbed.controlplane import owned

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]  # a control plane, and each course is the whole demo


def test_the_steps_have_the_expected_results_also_after_an_earlier_run() -> None:
    with owned() as plane:  # its own: one step takes the webhook away from the whole cluster
        for _ in range(sized(1, 2)):
            output = io.StringIO()
            stage = backstage.set_up(plane.instance, plane.cluster, Narrator(output))
            steps.perform(stage)
            kinds.perform(stage)
            headings = [line for line in output.getvalue().splitlines() if line.startswith("── ")]
            assert [heading[3:5] for heading in headings] == ["1.", "2.", "3.", "4.", "5.", "6.", "7.", "9.", "10"]
