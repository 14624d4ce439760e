"""`topicschema history`: the versions of a topic in a cluster."""

import sys
from argparse import Namespace
from collections.abc import Iterator

from topicschema.cli import printing, topics
from topicschema.cli.exits import COMPATIBLE
from topicschema.cli.topics import ClusterTopic
from topicschema.core.history import VersionEntry

_ROW = "{:>7}  {:16}{:22}{:10}{:14}{}"
_DIGITS = 12


def run(options: Namespace) -> int:
    """Print the versions, oldest first, and which of them are the latest and that of the spec."""
    return topics.run(options, _history)


def _history(topic: ClusterTopic, options: Namespace) -> int:
    if not topic.entries:
        raise topic.no_version()
    if topic.history is None and topic.status.version_count > len(topic.entries):
        note = f"the newest {len(topic.entries)} of {topic.status.version_count}: the operator's record has the others"
        print(f"topicschema history: {note}", file=sys.stderr)
    if options.output == "name":
        print(topic.name)
    elif options.output == "text":
        print("\n".join(map(str.rstrip, _lines(topic))))
    else:
        printing.write(_object(topic), options.output)
    return COMPATIBLE


def _object(topic: ClusterTopic) -> dict[str, object]:
    return {
        "topic": str(topic.topic),
        "incarnation": topic.incarnation,
        "latestSchemaVersion": topic.latest,
        "schemaVersion": topic.spec_version,
        "versions": [topics.line(each.schema_version, each.type, each) for each in topic.entries],
    }


def _lines(topic: ClusterTopic) -> Iterator[str]:
    strategy = topic.status.effective_strategy
    name = str(topic.topic) if topic.resource is None else f"{topic.label}: {topic.topic}"
    yield name + ("" if strategy is None else f", {strategy.value}")
    yield _ROW.format("VERSION", "TYPE", "REGISTERED", "ORIGIN", "FINGERPRINT", "")
    for each in topic.entries:
        if each.is_tombstone:
            yield _ROW.format(each.schema_version, "deleted", each.registered_at, "", "", "")
        else:
            fingerprint = each.fingerprint.removeprefix("sha256:")[:_DIGITS]
            marks = ", ".join(_marks(topic, each))
            yield _ROW.format(
                each.schema_version, each.type.value, each.registered_at, each.origin.value, fingerprint, marks
            )


def _marks(topic: ClusterTopic, entry: VersionEntry) -> Iterator[str]:
    if entry.schema_version == topic.spec_version:
        yield "spec"
    if entry.schema_version == topic.latest:
        yield "latest"
