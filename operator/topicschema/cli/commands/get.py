"""`topicschema get`: a version of a topic's schema in a cluster, with its text."""

from argparse import Namespace

from topicschema.cli import printing, topics
from topicschema.cli.exits import COMPATIBLE
from topicschema.cli.topics import ClusterTopic


def run(options: Namespace) -> int:
    """Print a version: without `--version` the one that is the schema of the spec, or else the latest."""
    return topics.run(options, _get)


def _get(topic: ClusterTopic, options: Namespace) -> int:
    number = next((each for each in (options.version, topic.spec_version, topic.latest) if each is not None), None)
    if number is None:
        raise topic.no_version()
    entry = topic.entry(number)
    if options.output == "name":
        print(topic.name)
        return COMPATIBLE
    info = topic.info(number)
    text = topics.text_of(info)
    if options.output == "text":
        print(text)
        return COMPATIBLE
    value = {
        "topic": str(topic.topic),
        "incarnation": topic.incarnation,
        **topics.line(number, info.type, entry),
        "properties": dict(info.properties),
        "schema": text,
    }
    printing.write(value, options.output)
    return COMPATIBLE
