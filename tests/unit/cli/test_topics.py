"""The versions of a topic, as the commands of a cluster have them."""

import pytest

from topicschema.cli.topics import AbsentError, ClusterTopic
from topicschema.core.history import History, Origin, VersionEntry
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey

TOPIC = Topic("shop", "orders", "created")
ENTRIES = tuple(
    VersionEntry(number, SchemaType.STRING, "", "", Origin.SPEC, "", is_tombstone=number == 8) for number in (7, 8, 9)
)


def topic(history: History | None) -> ClusterTopic:
    return ClusterTopic(TOPIC, None, history, ENTRIES, lambda *_: SchemaInfo(SchemaType.STRING))


def test_a_version_before_those_of_the_status_is_not_known_to_be_absent() -> None:
    of_status, recorded = topic(None), topic(History(TopicKey("prod", TOPIC), entries=ENTRIES))
    assert (of_status.entry(7), of_status.entry(3)) == (ENTRIES[0], None)
    assert of_status.info(3).type is SchemaType.STRING
    for each, number in ((of_status, 10), (recorded, 3)):
        with pytest.raises(AbsentError, match=rf"has no version {number}: it has the versions 7 to 9"):
            each.entry(number)
    with pytest.raises(AbsentError, match="is a deletion"):
        recorded.entry(8)
