"""Rules of strategies, of types without a text, of the policy, and of requests to the command line."""

from topicschema.cli.rules.rule import Chapter, Example, Rule
from topicschema.core.compatibility import TOO_COMPLEX
from topicschema.core.policy import Constraints
from topicschema.core.schemas import SchemaType
from topicschema.core.steps import MOST_FINDINGS, MOST_STEPS
from topicschema.core.strategies import Strategy
from topicschema.judging.cpu_time import MOST_SECONDS

_ID = """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"}]}
"""
_DOCUMENTED = """
{"type": "record", "name": "Order", "doc": "an order", "fields": [
  {"name": "id", "type": "long"}]}
"""
_WITH_BAD_DEFAULT = """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long", "default": null}]}
"""

STRATEGY = Chapter(
    "The strategy",
    rules=(
        Rule(
            "TYPE_CHANGED",
            "The topic's history has another schema type.",
            "keep the type, or use another topic. Only ALWAYS_COMPATIBLE allows another type, as a "
            "risk: consumers read every message with their own type.",
            Example('"long"', '"long"', type=SchemaType.JSON, earlier_type=SchemaType.AVRO),
            Example('"long"', '"int"', type=SchemaType.JSON, earlier_type=SchemaType.JSON),
        ),
        Rule(
            "ALWAYS_INCOMPATIBLE",
            "The strategy allows no schema after the first. A schema that equals an earlier version is that version.",
            "keep the schema, or ask the owner of the policy for another strategy.",
            Example('"long"', '"int"', strategy=Strategy.ALWAYS_INCOMPATIBLE),
            Example(_DOCUMENTED, _ID, strategy=Strategy.ALWAYS_INCOMPATIBLE),
        ),
        Rule(
            "UNDEFINED",
            "No strategy is known, and then Pulsar's checkers reject every new schema. This does not "
            "happen if the broker's own default (FULL) applies.",
            "set a strategy in the policy.",
        ),
        Rule(
            TOO_COMPLEX,
            "The comparison of the candidate with the versions of the strategy, and the search for risks, take more "
            f"than {MOST_STEPS:,} steps, or {MOST_SECONDS:g} seconds of CPU time. The operator rejects the candidate, "
            "whatever the strictness is. Usual causes are large unions of records that refer to each other, and "
            "thousands of changes to each of many versions. The operator also rejects a schema with very many types in "
            "a long namespace, or at a great depth: their full names and paths need too much memory. The limits are "
            "the operator's own: a broker may accept it.",
            "make the unions smaller, remove cycles of records, split a large change into several versions, or "
            "shorten the namespace.",
        ),
        Rule(
            "MORE_FINDINGS",
            f"There are more than {MOST_FINDINGS:,} reasons, or as many risks. The list has the first ones, then the "
            "first of each other rule. The message says how many are left out. This entry is the last, and changes no "
            "verdict.",
            "fix the listed ones, and check again.",
        ),
        Rule(
            "CHECKER_FAILED",
            "A plugged-in checker for the type (docs/checkers.md) raised an error, or did not return a "
            "list of findings. Without its result, no schema is accepted.",
            "report it to the author of the checker; the message has its name and the error.",
        ),
    ),
)

TYPES = Chapter(
    "Other types",
    rules=(
        Rule(
            "UNSUPPORTED_TYPE",
            "Schemas of this type are rejected. The message says why.",
            "use another type, or no schema at all.",
            Example("", type=SchemaType.BYTES),
            Example("", type=SchemaType.STRING),
        ),
        Rule(
            "PRIMITIVE_HAS_SCHEMA",
            "A primitive type has no schema text. STRING may have `null`, which Pulsar's Python client sends.",
            "remove the text.",
            Example('"long"', type=SchemaType.INT64),
            Example("", type=SchemaType.INT64),
        ),
    ),
)

POLICY = Chapter(
    "The policy's constraints",
    introduction="Here the path is a field of the resource. The command line has no policy and does not check these.",
    rules=(
        Rule(
            "TYPE_NOT_ALLOWED",
            "The policy's `allowedTypes` does not list the type.",
            "use a listed type, or ask the owner of the policy.",
            Example(_ID, constraints=Constraints(allowed_types=(SchemaType.JSON,))),
            Example(_ID, constraints=Constraints(allowed_types=(SchemaType.AVRO, SchemaType.JSON))),
        ),
        Rule(
            "STRATEGY_NOT_ALLOWED",
            "The policy's `allowedStrategies` does not list the topic's own strategy.",
            "remove the topic's own strategy, or ask the owner of the policy.",
            Example(
                _ID,
                constraints=Constraints(allowed_strategies=(Strategy.FULL,)),
                own_strategy=Strategy.ALWAYS_COMPATIBLE,
            ),
            Example(_ID, constraints=Constraints(allowed_strategies=(Strategy.FULL,)), own_strategy=Strategy.FULL),
        ),
        Rule(
            "PROPERTY_MISSING",
            "A property that the policy requires is missing or empty.",
            "add it under `spec.properties`.",
            Example(_ID, constraints=Constraints(required_properties=("owner",))),
            Example(_ID),
        ),
        Rule(
            "SCHEMA_TOO_LARGE",
            "The schema has more bytes than the policy allows.",
            "make it smaller, or ask the owner of the policy.",
            Example(_DOCUMENTED, constraints=Constraints(max_schema_bytes=90)),
            Example(_ID, constraints=Constraints(max_schema_bytes=90)),
        ),
    ),
)

HISTORY = Chapter(
    "The history",
    introduction="These concern earlier versions.",
    rules=(
        Rule(
            "INVALID_HISTORY",
            "The broker cannot read an earlier version. It answers every upload of an AVRO, JSON or "
            "PROTOBUF schema with an error (HTTP 500), under every strategy, even for an equal text. "
            "Producers with a schema fail, too. Usually a default does not fit, because a broker stores "
            "such a schema as a first version. Or the policy's `brokerProfile.pulsarVersion` changed, and the "
            "parser of that Pulsar version does not accept an earlier text.",
            "give the command line the right history, and the policy its broker's Pulsar version. If "
            "the broker has the version, delete the topic's schemas there, or use another topic. After "
            "a deletion, consumers no longer get older versions. The operator detects it within a "
            "minute.",
            Example(_ID, _WITH_BAD_DEFAULT),
            Example(_ID, _DOCUMENTED),
        ),
        Rule(
            "STORED_SCHEMA_UNCHANGED",
            "A warning: the schema differs from an earlier version only in what Pulsar does not compare "
            "(docs, aliases, an enum's default, properties, spacing). Registering it changes nothing: "
            "the old text stays.",
            "nothing, or change something that is compared.",
            Example(_DOCUMENTED, _ID),
            Example(_ID, _ID),
        ),
    ),
)
