"""Rules of strategies, of types without a text, of the policy, and of requests to the command line."""

from topicschema.cli.rules.rule import Chapter, Example, Rule
from topicschema.core.compatibility import TOO_COMPLEX
from topicschema.core.policy import Constraints
from topicschema.core.schemas import SchemaType
from topicschema.core.steps import MOST_FINDINGS, MOST_STEPS
from topicschema.core.strategies import Strategy

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
            "keep the type, or use another topic. Only ALWAYS_COMPATIBLE admits a change of type, and there it is a "
            "risk: consumers take every message for one of their own type.",
            Example('"long"', '"long"', type=SchemaType.JSON, earlier_type=SchemaType.AVRO),
            Example('"long"', '"int"', type=SchemaType.JSON, earlier_type=SchemaType.JSON),
        ),
        Rule(
            "ALWAYS_INCOMPATIBLE",
            "The strategy admits no schema after the first; one that equals an earlier version is that version.",
            "keep the schema, or ask the owner of the policy for another strategy.",
            Example('"long"', '"int"', strategy=Strategy.ALWAYS_INCOMPATIBLE),
            Example(_DOCUMENTED, _ID, strategy=Strategy.ALWAYS_INCOMPATIBLE),
        ),
        Rule(
            "UNDEFINED",
            "No strategy is known, and Pulsar's checkers then admit nothing new. It does not happen while a broker's "
            "own default (FULL) stands behind every other setting.",
            "set a strategy in the policy.",
        ),
        Rule(
            TOO_COMPLEX,
            "Comparing the candidate with the versions that the strategy selects, and finding its risks, takes more "
            f"than {MOST_STEPS:,} steps. The operator then refuses the candidate, whatever the strictness is. Usual "
            "causes are large unions of records that refer to each other, and thousands of changes to each of many "
            "versions. The limit is the operator's own: a broker may accept the schema.",
            "make the unions smaller, remove circles of records, or split a large change into several versions.",
        ),
        Rule(
            "MORE_FINDINGS",
            f"There are more than {MOST_FINDINGS:,} reasons, or as many risks. The first are listed, then the first of "
            "each other rule. The message has the number of omitted ones. It is the last one, and changes no verdict.",
            "fix the listed ones, and check again.",
        ),
        Rule(
            "CHECKER_FAILED",
            "A checker is plugged in for the type (docs/checkers.md), and it raised an error, or its answer is no list "
            "of findings. Without its answer nothing is admitted.",
            "report it to the checker's author; the message has its name and the error.",
        ),
    ),
)

TYPES = Chapter(
    "Other types",
    rules=(
        Rule(
            "UNSUPPORTED_TYPE",
            "Schemas of this type are refused; the message has the reason.",
            "use another type, or no schema at all.",
            Example("", type=SchemaType.BYTES),
            Example("", type=SchemaType.STRING),
        ),
        Rule(
            "PRIMITIVE_HAS_SCHEMA",
            "A primitive type carries no schema text; STRING at most `null`, which Pulsar's Python client sends.",
            "leave the text out.",
            Example('"long"', type=SchemaType.INT64),
            Example("", type=SchemaType.INT64),
        ),
    ),
)

POLICY = Chapter(
    "The policy's constraints",
    introduction="The path is a field of the resource here. The command line has no policy and does not check these.",
    rules=(
        Rule(
            "TYPE_NOT_ALLOWED",
            "The policy's `allowedTypes` does not list the type.",
            "use a type that is listed, or ask the owner of the policy.",
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
            "A property that the policy requires is missing, or empty.",
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
    introduction="Rules about versions that are already registered.",
    rules=(
        Rule(
            "INVALID_HISTORY",
            "An earlier version cannot be read. So the broker answers every upload of an AVRO, JSON or PROTOBUF schema "
            "with an error (HTTP 500), under any strategy, even for the same text. Producers with a schema fail, too. "
            "Mostly it is a default that does not fit: a broker stores such a schema as a first version. Or the "
            "policy's `brokerProfile.line` changed, and the parser of that version does not accept the schema.",
            "give the command line the right history, and the policy its broker's version. If the broker really has "
            "this history, delete the topic's schemas there, or use another topic. Older versions are then no longer "
            "served to consumers. The operator detects the deletion within a minute.",
            Example(_ID, _WITH_BAD_DEFAULT),
            Example(_ID, _DOCUMENTED),
        ),
        Rule(
            "STORED_SCHEMA_UNCHANGED",
            "A warning: the schema equals an earlier version but for what Pulsar does not compare (docs, aliases, an "
            "enum's default, properties, spacing). Registering it changes nothing: the old text stays.",
            "nothing; or change something that is compared.",
            Example(_DOCUMENTED, _ID),
            Example(_ID, _ID),
        ),
    ),
)
