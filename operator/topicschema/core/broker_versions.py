"""Rules for versions that other clients registered at the broker."""

from dataclasses import replace

from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledAtBrokerError
from topicschema.core.history import Flaw, History, Origin, VersionEntry
from topicschema.core.reasons import Reason
from topicschema.core.schemas import AVRO_TEXTS, PulsarVersion, Schema, SchemaInfo, SchemaType, fingerprint_of_bytes

_FAILS = {
    Flaw.UNPARSABLE: "does not parse under Pulsar",
    Flaw.INVALID_DEFAULT: "has a default that does not fit its field under Pulsar",
}
_ANSWER = (
    "a broker of that Pulsar version answers every schema of this topic with an error; if the broker has another "
    "version, set spec.pulsar.version of its registry, else delete the topic's schemas at the broker or use a new topic"
)
RULE = "INVALID_HISTORY"
_PYTHONS_STRING = b"null"


class UnreadableVersionError(StalledAtBrokerError):
    """A broker of the policy's Pulsar version must read this version, and cannot. `finding` is INVALID_HISTORY."""

    def __init__(self, entry: VersionEntry, why: str) -> None:
        message = f"version {entry.schema_version} {why}"
        super().__init__(Reason.INVALID_HISTORY, message)
        self.finding = Incompatibility(RULE, "$", message, None, entry.schema_version)


def registered_form(info: SchemaInfo, history: History | None) -> SchemaInfo:
    """Return the candidate, with the text `null` if a Python client registered the STRING schema so.

    This applies to a STRING schema without text. Without it, the topic would get a second, equivalent version.
    """
    if history is None or info.type is not SchemaType.STRING or info.schema:
        return info
    if history.equal_to(fingerprint_of_bytes(SchemaType.STRING, b"")) is not None:
        return info
    of_python = history.equal_to(fingerprint_of_bytes(SchemaType.STRING, _PYTHONS_STRING))
    is_theirs = of_python is not None and of_python.origin is Origin.BROKER
    return replace(info, schema=_PYTHONS_STRING) if is_theirs else info


def check_readable(candidate: Schema, history: History) -> None:
    """Raise UnreadableVersionError if a broker fails to parse a version before it compares the candidate.

    `history` must have the flaws for the broker's Pulsar version.
    """
    if candidate.info.type not in AVRO_TEXTS or all(entry.flaw is Flaw.NONE for entry in history.active_versions):
        return
    equal = history.equal_to(candidate.fingerprint)
    last = history.next_version if equal is None else equal.schema_version
    for entry in history.active_versions:
        if entry.type in AVRO_TEXTS and entry.flaw is not Flaw.NONE and entry.schema_version <= last:
            raise UnreadableVersionError(entry, f"{_FAILS[entry.flaw]} {entry.pulsar_version}: {_ANSWER}")


def unreadable(entry: VersionEntry, pulsar_version: PulsarVersion, error: InvalidSchemaError) -> UnreadableVersionError:
    """Return the error for a version that the parser of `pulsar_version` refuses."""
    why = f"{error.rule} at {error.place}"
    if entry.pulsar_version is pulsar_version:
        return UnreadableVersionError(entry, f"cannot be read, so nothing can be compared with it: {why}")
    under = f"was registered under Pulsar {entry.pulsar_version} and does not parse under {pulsar_version}: {why}"
    return UnreadableVersionError(entry, f"{under}; {_ANSWER}")
