"""The values of this process' metrics."""

from topicschema import telemetry


def counted(name: str, **labels: str) -> float:
    """Return the value of a sample, 0 if there is none."""
    return telemetry.REGISTRY.get_sample_value(f"topicschema_{name}", labels) or 0
