"""Verdicts on schemas that are parsed already, by the generator that webhook, controller and command line run."""

from collections.abc import Mapping, Sequence

from support.schemas.examples import history as history_of
from topicschema.core import comparison, formats
from topicschema.core import verdict as product
from topicschema.core.history import History, VersionEntry
from topicschema.core.policy import Policy
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo
from topicschema.core.verdict import Candidate, Verdict


def judge(candidate: Candidate, history: History, policy: Policy, schemas: Mapping[int, Schema]) -> Verdict:
    """Return the verdict. Raise KeyError if `schemas` lacks a version that is read."""
    parsed = {id(each.info): each for each in (candidate.schema, *schemas.values())}

    def parse(info: SchemaInfo, pulsar_version: PulsarVersion) -> Schema:
        return parsed.get(id(info)) or formats.parse(info, pulsar_version)

    judging = product.judge(candidate, history, policy)
    return comparison.run(judging, lambda entry: schemas[entry.schema_version].info, parse)


def verdict(candidate: Schema, earlier: Sequence[Schema], policy: Policy) -> Verdict:
    """Return the verdict on a candidate after these versions."""
    history = history_of(*earlier)
    schemas = {
        each.schema_version: earlier[each.schema_version] for each in needed(Candidate(candidate), history, policy)
    }
    return judge(Candidate(candidate), history, policy, schemas)


def needed(candidate: Candidate, history: History, policy: Policy) -> tuple[VersionEntry, ...]:
    """Return the versions whose texts the verdict reads, oldest first."""
    versions = product.earlier_versions(candidate, history, policy)
    return tuple(each.entry for each in reversed(versions) if each.is_read and each.entry)
