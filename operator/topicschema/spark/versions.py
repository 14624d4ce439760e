"""Schema versions of a topic, fetched from the broker when the first message of one of them arrives."""

from collections.abc import Callable, Hashable
from typing import Final, TypeVar

from topicschema.core import releases
from topicschema.core.schemas import NEWEST, PulsarVersion, SchemaInfo
from topicschema.core.topics import Topic
from topicschema.spark.options import ReadOptions
from topicschema.spark.planning import TaskSpan
from topicschema.validation.sources.pulsar.admin import Admin

T = TypeVar("T")
_MOST: Final = 32
"""Maximum number of topics of which a process holds what it has made of their versions."""
_FEW: Final = 100
"""Number of versions that are requested at once."""
_HELD: Final[dict[Hashable, object]] = {}


class TopicVersions:
    """Versions of a topic, and the Pulsar version whose rules its broker follows."""

    def __init__(self, topic: Topic, pulsar_version: PulsarVersion) -> None:
        self.pulsar_version = pulsar_version
        self._topic = topic
        self._known: dict[int, SchemaInfo | None] = {}

    def info(self, admin: Admin, number: int) -> SchemaInfo | None:
        """Return the schema of a version. Return None if it does not exist.

        The first call requests all versions at once, unless they are many.
        """
        if not self._known and number < _FEW:
            self._known |= admin.schemas(self._topic)
        if number not in self._known:
            version = admin.schema(self._topic, number)
            self._known[number] = None if version is None else version.info
        return self._known[number]


def held(admin: Admin, options: ReadOptions, span: TaskSpan, what: Hashable, make: Callable[[TopicVersions], T]) -> T:
    """Return what `make` makes of the topic's versions, once for all spans of a topic that this process reads.

    `what` distinguishes it from others of the topic. The rules are those of the span, or of the broker's release.
    """
    key = (options.pulsar.admin_url, span.topic, span.positions.created, what)
    if key not in _HELD:
        while len(_HELD) >= _MOST:
            del _HELD[next(iter(_HELD))]
        _HELD[key] = make(TopicVersions(span.parsed_topic, span.rules or rules_of(admin)))
    return _HELD[key]  # type: ignore[return-value]  # by the key


def rules_of(admin: Admin) -> PulsarVersion:
    """Return the Pulsar version whose rules the broker follows. Raises SourceError if the broker does not answer."""
    release = admin.release()
    return NEWEST if release is None else releases.judging_version(release) or NEWEST
