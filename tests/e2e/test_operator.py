"""The operator as the chart installs it, in pods."""

from support.kubernetes.pods import Pods


def test_controller_and_webhook_run_and_are_ready(operator: Pods) -> None:
    pods = operator.cluster.get("-n", operator.namespace, "pods")["items"]
    statuses = [each["status"]["containerStatuses"][0] for each in pods]
    assert len(pods) == 3
    assert all(status["ready"] and status["restartCount"] == 0 for status in statuses)
