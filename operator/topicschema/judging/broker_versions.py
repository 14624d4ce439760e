"""What versions that came from a broker ask of judging, which those that we registered never do. Pure."""

from dataclasses import replace

from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledAtBrokerError
from topicschema.core.history import Flaw, History, Origin, VersionEntry
from topicschema.core.schemas import AVRO_TEXTS, PulsarLine, SchemaInfo, SchemaType, fingerprint_of_bytes
from topicschema.core.verdict import Candidate

_FAILS = {
    Flaw.UNPARSABLE: "does not parse under Pulsar",
    Flaw.INVALID_DEFAULT: "has a default that does not fit its field under Pulsar",
}
_ANSWER = (
    "a broker of that line answers every schema of this topic with an error; set the policy's brokerProfile.line where "
    "it is of another, else delete the topic's schemas there, or take another topic"
)
RULE = "INVALID_HISTORY"
_PYTHONS_STRING = b"null"


class UnreadableVersionError(StalledAtBrokerError):
    """A version that a broker of the policy's line has to read, and cannot; `finding` says so by the rule's id."""

    def __init__(self, entry: VersionEntry, why: str) -> None:
        message = f"version {entry.schema_version} {why}"
        super().__init__("InvalidHistory", message)
        self.finding = Incompatibility(RULE, "$", message, None, entry.schema_version)


def text_on_record(info: SchemaInfo, history: History | None) -> SchemaInfo:
    """The candidate, a STRING without text as the one that the broker has: Python's clients register the text `null`.

    Otherwise the topic would get a version more that differs in nothing that anybody reads.
    """
    if history is None or info.type is not SchemaType.STRING or info.schema:
        return info
    if history.equal_to(fingerprint_of_bytes(SchemaType.STRING, b"")) is not None:
        return info
    of_python = history.equal_to(fingerprint_of_bytes(SchemaType.STRING, _PYTHONS_STRING))
    is_theirs = of_python is not None and of_python.origin is Origin.BROKER
    return replace(info, schema=_PYTHONS_STRING) if is_theirs else info


def demand_readable(candidate: Candidate, history: History) -> None:
    """UnreadableVersionError where a broker reads a version, and fails, before it judges the candidate at all.

    The history is one as the broker's line reads it.
    """
    if candidate.schema.info.type not in AVRO_TEXTS or all(entry.flaw is Flaw.NONE for entry in history.trimmed):
        return
    equal = history.equal_to(candidate.schema.fingerprint)
    last = history.next_version if equal is None else equal.schema_version
    for entry in history.trimmed:
        if entry.type in AVRO_TEXTS and entry.flaw is not Flaw.NONE and entry.schema_version <= last:
            raise UnreadableVersionError(entry, f"{_FAILS[entry.flaw]} {entry.line}: {_ANSWER}")


def unreadable(entry: VersionEntry, line: PulsarLine, error: InvalidSchemaError) -> UnreadableVersionError:
    """What is told of a version that the parser of `line` does not take."""
    why = f"{error.rule} at {error.place}"
    if entry.line is line:
        return UnreadableVersionError(entry, f"cannot be read, so nothing can be compared with it: {why}")
    under = f"was registered under Pulsar {entry.line} and does not parse under {line}: {why}"
    return UnreadableVersionError(entry, f"{under}; {_ANSWER}")
