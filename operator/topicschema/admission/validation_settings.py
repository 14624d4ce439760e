"""Warnings about a policy's validation: what cannot be read, and what a gate does not cover."""

from collections.abc import Iterator

from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.core.validation_rules import ValidationMode


def warnings(new: NamespaceSchemaPolicy, registry: SchemaRegistry, old: NamespaceSchemaPolicy | None) -> Iterator[str]:
    """Yield the warnings about limits of a policy's validation."""
    spec, before = new.spec, None if old is None else old.spec
    validation, pulsar = spec.validation, registry.spec.pulsar
    if validation is None or validation.mode in (None, ValidationMode.OFF):
        return
    if before is not None and (spec.validation, spec.is_allow_auto_update_schema) == (
        before.validation,
        before.is_allow_auto_update_schema,
    ):
        return
    is_gate, is_locked = validation.mode is ValidationMode.GATE, spec.is_allow_auto_update_schema is False
    if is_gate and pulsar is not None and not is_locked:
        yield (
            "validation.mode Gate checks only schemas from Git: clients may add schemas without it until "
            "isAllowAutoUpdateSchema is false"
        )
    name = spec.registry
    if registry.spec.validation is None:
        yield f"registry {name} has no spec.validation: nothing can be read"
        return
    is_of_files = validation.source is not None and validation.source.files is not None
    if not is_of_files and (pulsar is None or pulsar.service_url is None):
        yield f"registry {name} has no spec.pulsar.serviceURL, by which messages are read: nothing can be read"
    if registry.spec.validation.include_values:
        yield f"registry {name} includes values: all who may read a TopicSchema or its report see values of messages"
