"""`topicschema why`: the state of a TopicSchema in a cluster, its cause, and what to do."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from topicschema.api.metadata import Condition, ConditionStatus, ConditionType, Metadata
from topicschema.api.topicschemas import IncompatibilityStatus
from topicschema.cli import printing, topics
from topicschema.cli.check.text import explained, wrapped
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.rules import reasons
from topicschema.cli.topics import AbsentError, ClusterTopic
from topicschema.core.compatibility import Incompatibility
from topicschema.core.mistakes import Mistake
from topicschema.core.reasons import Reason

_SHOWN = 3
_PROGRESS = (ConditionType.RECONCILING, ConditionType.STALLED)


def run(options: Namespace) -> int:
    """Print the state. Return 1 if the TopicSchema is not Ready."""
    return topics.run(options, _why)


@dataclass(frozen=True, slots=True)
class _Cause:
    """A condition that is not as it should be, and what to do about it."""

    condition: str
    status: str
    reason: str
    message: str
    to_do: str
    since: str = ""


def _why(topic: ClusterTopic, options: Namespace) -> int:
    if topic.resource is None:
        has = "versions" if topic.versions else "no version"
        raise AbsentError(f"{topic.label} has {has} and no TopicSchema, so nothing manages it")
    causes, is_ready = list(_causes(topic, topic.resource.metadata)), _is_ready(topic)
    if options.output == "name":
        print(topic.name)
    elif options.output == "text":
        print("\n".join(_lines(topic, causes)))
    else:
        printing.write(_object(topic, causes), options.output)
    return COMPATIBLE if is_ready else INCOMPATIBLE


def _is_ready(topic: ClusterTopic) -> bool:
    ready = _condition(topic, ConditionType.READY)
    return topic.is_observed and ready is not None and ready.status is ConditionStatus.TRUE


def _condition(topic: ClusterTopic, kind: ConditionType) -> Condition | None:
    return next((each for each in topic.status.conditions if each.type is kind), None)


def _causes(topic: ClusterTopic, metadata: Metadata) -> Iterator[_Cause]:
    if metadata.deletion_timestamp:
        message = "the resource is being deleted, and waits for the controller to release the topic"
        yield _Cause("Ready", "Unknown", "Deleting", message, "If it takes long, look into the controller's log.")
    if not topic.is_observed:
        newest, generation = topic.status.observed_generation, metadata.generation
        message = f"the controller has not observed generation {generation} of the spec, only {newest}"
        if newest < 0:
            message = "the controller has not observed the resource"
        to_do = "Wait a moment. If that does not help, see whether the controller runs, and look into its log."
        yield _Cause("Ready", "Unknown", "NotObserved", message, to_do)
    messages = set[str]()
    for each in topic.status.conditions:
        is_news = each.message not in messages and each.type not in _PROGRESS
        if is_news and (each.status is not ConditionStatus.TRUE or Reason.of(each.reason) in _REPORTED):
            messages.add(each.message)
            yield _Cause(each.type, each.status, each.reason, each.message, _advice(each), each.last_transition_time)


_REPORTED = (Reason.CONSUMER_RISK, Reason.SUSPENDED)
"""Reasons of conditions that are True, about which a person may do something."""


def _advice(condition: Condition) -> str:
    texts = reasons.every().get(condition.reason, ("",))
    text = texts[0 if condition.type is ConditionType.READY else -1]
    return text.removeprefix(f"{Reason.of(condition.reason).condition}: ")


def _object(topic: ClusterTopic, causes: list[_Cause]) -> dict[str, Any]:
    return {
        "topic": str(topic.topic),
        "isReady": _is_ready(topic),
        "schemaVersion": topic.spec_version,
        "latestSchemaVersion": topic.latest,
        "causes": [
            {"toDo" if name == "to_do" else name: str(value) for name, value in asdict(each).items()} for each in causes
        ],
        "incompatibilities": [
            {"rule": each.rule, "path": each.path, "message": each.message, "toDo": _remedy(each)}
            for each in topic.status.incompatibilities
        ],
    }


def _lines(topic: ClusterTopic, causes: list[_Cause]) -> Iterator[str]:
    ready = _condition(topic, ConditionType.READY)
    state = "Ready" if _is_ready(topic) else "not Ready"
    yield f"{topic.label} is {state}" + (f": {ready.reason}" if ready and topic.is_observed else "")
    latest = "there is no version" if topic.latest is None else f"the latest is version {topic.latest}"
    own = "not registered" if topic.spec_version is None else f"version {topic.spec_version}"
    yield from wrapped(f"{topic.topic}: the schema of the spec is {own}, {latest}")
    for each in causes:
        yield ""
        since = f", since {each.since}" if each.since else ""
        yield from wrapped(f"{each.condition} is {each.status}: {each.reason}{since}")
        yield from wrapped(each.message, "  ")
        yield from wrapped(f"To do: {each.to_do}" if each.to_do else "", "  ")
    yield from _findings(topic)


def _findings(topic: ClusterTopic) -> Iterator[str]:
    listed = topic.status.incompatibilities
    for each in listed[:_SHOWN]:
        yield ""
        direction = f" ({each.direction})" if each.direction else ""
        yield from wrapped(f"{each.rule} at {each.path}{direction}")
        yield from wrapped(each.message, "  ")
        yield from wrapped(f"To do: {_remedy(each)}." if _remedy(each) else "", "  ")
    if topic.status.incompatibility_count > _SHOWN:
        yield ""
        yield f"and {topic.status.incompatibility_count - _SHOWN} more; -o json lists the first 20"
    yield from explained(each.rule for each in listed[:_SHOWN])


def _remedy(finding: IncompatibilityStatus) -> str:
    known = Incompatibility(finding.rule, finding.path, finding.message, finding.direction, finding.schema_version)
    return Mistake(known, (finding.schema_version,)).remedy
