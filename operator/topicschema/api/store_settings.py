"""Conversion of the settings of topics and Pulsar namespaces between the stored fields and core's types."""

from topicschema.api.store_kinds import (
    NamespaceSettingsValues,
    TopicSettingsSpec,
    TopicSettingsValues,
)
from topicschema.core.history import StoredTopicSettings
from topicschema.core.remote import NamespaceSettings, TopicSettings


def topic_settings_to_wire(settings: StoredTopicSettings | None) -> TopicSettingsSpec | None:
    """Return the fields for a topic's own settings."""
    if settings is None:
        return None
    return TopicSettingsSpec(original=_values(settings.original), written=_values(settings.written))


def topic_settings_from_wire(spec: TopicSettingsSpec | None) -> StoredTopicSettings | None:
    """Return a topic's own settings from the stored fields."""
    if spec is None:
        return None
    return StoredTopicSettings(_settings(spec.original), _settings(spec.written))


def namespace_settings_to_wire(original: NamespaceSettings | None) -> NamespaceSettingsValues | None:
    """Return the fields for the original settings of a Pulsar namespace."""
    if original is None:
        return None
    return NamespaceSettingsValues(
        schema_compatibility_strategy=original.strategy,
        schema_auto_update_compatibility_strategy=original.auto_update_strategy,
        is_allow_auto_update_schema=original.allows_auto_update,
        is_allow_auto_update_schema_with_replicator=original.allows_replicators,
        schema_validation_enforced=original.enforces_validation,
    )


def namespace_settings_from_wire(values: NamespaceSettingsValues | None) -> NamespaceSettings | None:
    """Return the original settings of a Pulsar namespace from their fields."""
    if values is None:
        return None
    return NamespaceSettings(
        strategy=values.schema_compatibility_strategy,
        auto_update_strategy=values.schema_auto_update_compatibility_strategy,
        allows_auto_update=values.is_allow_auto_update_schema,
        allows_replicators=values.is_allow_auto_update_schema_with_replicator,
        enforces_validation=values.schema_validation_enforced,
    )


def _values(settings: TopicSettings) -> TopicSettingsValues:
    return TopicSettingsValues(
        schema_compatibility_strategy=settings.strategy, schema_validation_enforced=settings.enforces_validation
    )


def _settings(values: TopicSettingsValues) -> TopicSettings:
    return TopicSettings(
        strategy=values.schema_compatibility_strategy, enforces_validation=values.schema_validation_enforced
    )
