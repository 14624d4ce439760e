"""The settings of a topic's validation that decide what passes, and the constraint that a topic does not relax them.

`api.validation` has the fields, `reconcile.validation` runs the validation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from topicschema.core.compatibility import Incompatibility

_FIELD: Final = "spec.validation"
_ALL_PERCENT: Final = 100
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class ValidationMode(StrEnum):
    """The effect of a verdict on retained messages."""

    OFF = "Off"
    REPORT = "Report"
    GATE = "Gate"


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """The limits of a sample; None does not limit. `since` is a duration, for instance 168h."""

    max_messages: int | None = None
    percent: int | None = None
    since: str | None = None


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """Settings of a policy or a topic. For a topic, None means the policy's value."""

    mode: ValidationMode | None = None
    max_invalid_per_million: int | None = None
    sample: SampleLimits | None = None


def relaxations(topic: ValidationRules, policy: ValidationRules) -> Iterator[Incompatibility]:
    """Yield each field by which the topic's validation accepts more than the policy's. A policy in mode Off has none.

    A topic's sample replaces the policy's whole sample. A limit that it lacks makes the sample larger.
    """
    order, mode = list(ValidationMode), policy.mode or ValidationMode.OFF
    if mode is ValidationMode.OFF:
        return
    if topic.mode is not None and order.index(topic.mode) < order.index(mode):
        yield _relaxed("VALIDATION_MODE_RELAXED", "mode", mode, topic.mode)
    tolerated, tolerance = policy.max_invalid_per_million or 0, topic.max_invalid_per_million
    if tolerance is not None and tolerance > tolerated:
        yield _relaxed("VALIDATION_TOLERANCE_RELAXED", "tolerance.maxInvalidPerMillion", tolerated, tolerance)
    if topic.sample is not None:
        yield from _smaller(topic.sample, policy.sample or SampleLimits())


def seconds(duration: str | None) -> int | None:
    """Return the seconds of a duration like 168h."""
    return None if duration is None else int(duration[:-1]) * _UNITS[duration[-1]]


def _smaller(topic: SampleLimits, policy: SampleLimits) -> Iterator[Incompatibility]:
    """Yield each limit by which the topic's sample has fewer messages."""
    for name, own, other in (
        ("maxMessages", topic.max_messages, policy.max_messages),
        ("percent", _percent(topic), _percent(policy)),
        ("since", seconds(topic.since), seconds(policy.since)),
    ):
        if own is not None and (other is None or own < other):
            values = {"since": (policy.since, topic.since)}.get(name, (other, own))
            yield _relaxed("VALIDATION_SAMPLE_RELAXED", f"sample.{name}", *values)


def _percent(sample: SampleLimits) -> int | None:
    return None if sample.percent == _ALL_PERCENT else sample.percent


def _relaxed(rule: str, name: str, policy: object, topic: object) -> Incompatibility:
    has = "has no limit here" if policy is None else f"has {policy} here"
    message = f"the policy {has}, and {topic} is weaker, which only its constraint mayRelaxValidation would allow"
    return Incompatibility(rule, f"{_FIELD}.{name}", message)
