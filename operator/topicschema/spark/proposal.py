"""Schema that messages are read with, from the options `schema` and `schemaType`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from topicschema import protoc
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError, StalledError, TopicSchemaError
from topicschema.core.reasons import Reason
from topicschema.core.schemas import NEWEST, SchemaInfo, SchemaType
from topicschema.judging import schema_source
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.incompatibilities import CURRENT, NO_STRATEGY, ProposedStrategy

_MAX_BYTES: Final = 16 << 20
_UNREADABLE: Final = frozenset({SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH})


@dataclass(frozen=True, slots=True)
class Proposal:
    """Schema to read messages with, as a broker stores it. None is the current schema of each topic.

    `strategy` compares the current schema with the versions that wrote messages.
    """

    info: SchemaInfo | None = None
    strategy: ProposedStrategy = NO_STRATEGY


def proposal(schema: str | None, schema_type: str | None) -> Proposal:
    """Return the schema of the options `schema` and `schemaType`, as `proposal_of`, or the strategy that they name."""
    strategy = None if schema is None else ProposedStrategy.named(schema)
    if strategy is not None:
        return Proposal(strategy=strategy)
    return proposal_of(("schema", "schemaType"), schema, schema_type)


def proposal_of(names: tuple[str, str], schema: str | None, schema_type: str | None) -> Proposal:
    """Return the schema: `current`, a text, or the path of a file with a text or with a TopicSchema in YAML.

    `names` are those of the two options. Raises InvalidOptionError if the schema is missing or invalid.
    """
    name, type_name = names
    if schema is None:
        raise InvalidOptionError(
            f"option {name} is missing: write {CURRENT}, the text of a schema, or a file with a schema or a TopicSchema"
        )
    if schema == CURRENT:
        return Proposal()
    try:
        return Proposal(_stored(schema, schema_type, type_name))
    except InvalidOptionError:
        raise
    except InvalidSchemaError as error:
        raise InvalidOptionError(f"option {name}: {error.sentence}") from None
    except TopicSchemaError as error:
        raise InvalidOptionError(f"option {name}: {error.message}") from None


def _stored(schema: str, schema_type: str | None, type_name: str) -> SchemaInfo:
    """Return the schema as a broker stores it."""
    is_text = schema.lstrip().startswith(("{", "[", '"'))
    text = schema if is_text else _content(schema)
    is_manifest = not is_text and schema.endswith((".yaml", ".yml"))
    if is_manifest and schema_type is not None:
        raise InvalidOptionError(f"option {type_name}: the TopicSchema has the type")
    info = _of_manifest(text) if is_manifest else SchemaInfo(_type(schema_type or "AVRO", type_name), text.encode())
    stored = formats.as_stored(info)
    formats.parse(stored, NEWEST, validate_defaults=False)
    return stored


def _content(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MAX_BYTES).decode()
    except OSError as error:
        raise StalledError(Reason.INVALID_VALIDATION_REQUEST, f"{path[:200]}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StalledError(Reason.INVALID_VALIDATION_REQUEST, f"{path[:200]} is not UTF-8") from None


def _type(name: str, option: str) -> SchemaType:
    known = [each.value for each in SchemaType if each not in _UNREADABLE]
    if name.upper() not in known:
        raise InvalidOptionError(f"option {option}: {name!r}; write one of {', '.join(known)}")
    return SchemaType(name.upper())


def _of_manifest(text: str) -> SchemaInfo:
    """Return the schema of the only TopicSchema in the YAML text."""
    try:
        documents = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
    except yaml.YAMLError as error:
        message = f"the file is not YAML: {' '.join(str(error).split())[:200]}"
        raise StalledError(Reason.INVALID_VALIDATION_REQUEST, message) from None
    resources: list[Any] = [each for each in documents if each.get("kind") == "TopicSchema"]
    if len(resources) != 1:
        message = f"the file has {len(resources)} TopicSchemas, and one is needed"
        raise StalledError(Reason.INVALID_VALIDATION_REQUEST, message)
    spec = decode(TopicSchemaSpec, resources[0].get("spec"), "spec")
    sources = schema_source.sources_of(spec)
    if sources is None:
        return schema_source.info_of(spec)
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, protoc.compile_envelope(sources, pulsar_version=NEWEST))
