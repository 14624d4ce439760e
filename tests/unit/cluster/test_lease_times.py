"""Lease times of an elector, without an API server."""

import pytest

from topicschema.cluster.lease import LeaseTimes


@pytest.mark.parametrize("times", [(15, 10, 0), (15, 10, 10), (15, 15, 2), (10, 15, 2), (2, 10, 15)])
def test_times_that_would_let_two_lead_or_none_are_refused(times: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="retry < renew deadline < duration"):
        LeaseTimes(*times)
