"""The writer's version under the reader's names, and versions on which Avro itself fails.

GenericDatumReader applies the reader's aliases, and then Resolver.resolve does so again (1.11), each time unless the
two are equal by then. The broker's validator does it once. So a new name may be renamed once more.
"""

import sys
from collections.abc import Iterable
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro import fingerprint
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Node
from topicschema.core.formats.avro.resolution import aliases, findings
from topicschema.core.formats.avro.resolution.findings import ReadingRule
from topicschema.core.formats.format import Mismatch
from topicschema.core.steps import Steps

_BREAKS: Final = frozenset(
    {
        ReadingRule.ALIAS_CONFLICT,
        ReadingRule.DOLLAR_IN_NAME,
        ReadingRule.RECURSIVE_DEFAULT,
        ReadingRule.INFINITE_RECORD,
        ReadingRule.INVALID_DEFAULT,
        ReadingRule.INVALID_WRITER_DEFAULT,
        ReadingRule.RECURSIVE_RECORD_CRASHES_AVRO,
    }
)
"""Rules under which Avro throws before it has read a byte."""


def renamed(writer: Node, reader: Node, library: Library) -> Node:
    """Return the writer's version after one application of the reader's aliases, or `writer` if none applies.

    The copy has the digests that a comparison needs. Raises InvalidSchemaError for a duplicate name.
    """
    if fingerprint.equal(writer, reader):
        return writer
    steps = Steps(sys.maxsize)
    made, faults = aliases.apply(writer, reader, library, steps)
    demand_no_break(findings.mismatches(None, faults, steps))
    fingerprint.assign_digests(made)
    return made


def demand_no_break(mismatches: Iterable[Mismatch]) -> None:
    """Raise InvalidSchemaError, with its rule, for the first mismatch on which Avro fails."""
    for each in mismatches:
        if each.rule in _BREAKS:
            message = each.message.replace("{reader}", "the reader's version").replace("{writer}", "the writer's")
            raise InvalidSchemaError(each.rule, message, Place(each.reader_path))
