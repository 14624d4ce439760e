"""Refusals of schemas as the broker's answers. `judging` decides, and nothing is judged here.

The status of a client's mistake is that of Pulsar 4.0; the message begins as the broker's and goes on with our rule.
"""

from collections.abc import Sequence
from typing import Final

from topicschema.core import broker_errors, jackson
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import History
from topicschema.core.jackson import TextReading
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Verdict
from topicschema.registry.answers import INCOMPATIBLE, INVALID, Form, RestError, failure

_THROWN: Final = frozenset({"KEY_VALUE_PAYLOAD", "UNKNOWN_PART_TYPE", "PART_PROPERTIES", "NESTED_KEY_VALUE"})
_DEFAULTS: Final = frozenset({"INVALID_DEFAULT"})
_LEGACY: Final = "LEGACY_JSON_SCHEMA"
_WITHOUT_SCHEMA: Final = frozenset({SchemaType.NONE, SchemaType.BYTES})
_OF_RESOURCE: Final = "spec."
_MOST: Final = 20


def of_invalid(info: SchemaInfo, error: InvalidSchemaError, history: History) -> RestError:
    """Return the answer to the upload of a text that is no schema.

    The broker reads defaults only to compare the schema with earlier ones. For a first version the operator is
    stricter.
    """
    if error.rule in _THROWN:
        return failure(error.sentence)
    if error.rule in _DEFAULTS and history.active_versions:
        return failure(error.sentence, "org.apache.avro.AvroTypeException")
    if _fails_in_jackson(info):
        return failure(f"Can not resolve JsonSchema 'type': {error.sentence}", "java.io.IOException")
    return RestError(422, _sentence(broker_errors.of_invalid(info.type, error.rule)[1], error.sentence), Form.PAGE)


def _fails_in_jackson(info: SchemaInfo) -> bool:
    is_json = info.type is SchemaType.JSON and broker_errors.falls_back_to_jackson(info, PulsarVersion.V4_0)
    return is_json and jackson.reading(info.schema) is TextReading.FAILURE


def of_untestable(info: SchemaInfo, error: InvalidSchemaError, history: History) -> RestError:
    """Return the answer to the question if such a text is compatible.

    The broker has one status for all that it does not read. What only the operator refuses has that of an upload.
    """
    message = _sentence(broker_errors.of_invalid(info.type, error.rule)[1], error.sentence)
    is_taken_first = info.type in _WITHOUT_SCHEMA or error.rule in _DEFAULTS
    if error.rule == _LEGACY or (is_taken_first and not history.active_versions):
        return RestError(422, message, Form.PAGE)
    return failure(message, INVALID)


def of_refused(info: SchemaInfo, verdict: Verdict, history: History) -> RestError:
    """Return the answer to the upload of a schema with incompatibilities."""
    findings = verdict.incompatibilities
    message = of_findings(info, verdict.strategy.value, findings, history)
    if verdict.thrown is not None:
        return failure(message, "org.apache.avro.AvroTypeException")
    is_of_policy = all(each.path.startswith(_OF_RESOURCE) for each in findings)
    return RestError(422 if is_of_policy else 409, message, Form.PAGE)


def of_incompatible(
    info: SchemaInfo, strategy: Strategy, findings: Sequence[Incompatibility], history: History
) -> RestError:
    """Return the answer to the question if a schema is compatible that is not."""
    return failure(of_findings(info, strategy, findings, history), INCOMPATIBLE)


def of_findings(info: SchemaInfo, strategy: Strategy, findings: Sequence[Incompatibility], history: History) -> str:
    """Return the broker's beginning and the findings, in one text."""
    own = "; ".join(f"{each.rule} at {each.path}: {each.message}" for each in findings[:_MOST])
    others = [each.type for each in history.active_versions if each.type is not info.type]
    considered = others if strategy.is_transitive else [each.type for each in history.active_versions[-1:]]
    if not considered or findings[0].path.startswith(_OF_RESOURCE):
        return own
    return _sentence(broker_errors.of_incompatible(info.type, considered[0], strategy, findings)[1], own)


def _sentence(beginning: str, own: str) -> str:
    beginning = beginning.rstrip(": ")
    return f"{beginning}: {own}" if beginning else own
