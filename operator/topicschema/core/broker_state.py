"""The state of a topic at its broker, as one value: `reconcile` reads it, `plan` and the status use it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from topicschema.core.alignment import Alignment, HistoryAhead, HistoryBehind
from topicschema.core.errors import TopicSchemaError
from topicschema.core.history import StoredTopicSettings
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy
from topicschema.core.topic_settings import TopicSettingsState, with_own_strategy


@dataclass(frozen=True, slots=True)
class BrokerState:
    """The state of a topic at its broker.

    `payloads` are schemas of the versions to import, by number: as many as fit into memory. `may_write` is False if the
    broker is only observed. `topic_settings` is None if neither resource nor history has settings of the topic's own,
    or if the broker has switched them off. `refused` is the error with which the broker refused the candidate.
    `is_serving` counts at a deletion: the broker serves versions of the resource, which a soft delete is to hide.
    """

    alignment: Alignment
    payloads: Mapping[int, SchemaInfo] = field(default_factory=dict)
    may_write: bool = True
    topic_settings: TopicSettingsState | None = None
    refused: TopicSchemaError | None = None
    is_serving: bool = False

    def after(self, read: "BrokerState") -> "BrokerState":
        """Return the state with the versions of a later read. An imported history gets the topic's own strategy."""
        alignment = read.alignment
        if self.topic_settings is not None and isinstance(alignment, HistoryBehind):
            alignment = replace(alignment, history=with_own_strategy(alignment.history, self.topic_settings))
        return replace(self, alignment=alignment, payloads=read.payloads)

    def with_settings(self, settings: TopicSettings) -> "BrokerState":
        """Return the state after these settings of the topic were written."""
        before = self.topic_settings
        return self if before is None else replace(self, topic_settings=before.after(settings))

    def with_stored_settings(self, stored: StoredTopicSettings | None) -> "BrokerState":
        """Return the state after these settings of the topic were stored."""
        before = self.topic_settings
        return self if before is None else replace(self, topic_settings=replace(before, stored=stored))

    @property
    def unmanaged_strategy(self) -> Strategy | None:
        """The topic's own strategy at the broker, which no field manages."""
        return None if self.topic_settings is None else self.topic_settings.unmanaged_strategy

    @property
    def first_missing(self) -> int | None:
        """The first version of the history that the broker lacks."""
        return self.alignment.missing[0].schema_version if isinstance(self.alignment, HistoryAhead) else None
