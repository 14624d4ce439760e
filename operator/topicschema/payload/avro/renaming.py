"""The writer's version under the reader's names, as a consumer has it; and two versions on which Avro breaks down.

GenericDatumReader applies the reader's aliases, and then Resolver.resolve does so again (1.11), each time unless the
two are equal by then; the broker's validator does it once. So what `a` was renamed to may be renamed once more.
"""

import sys
from collections.abc import Iterable
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro import fingerprint
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Node
from topicschema.core.formats.avro.resolution import aliases, findings
from topicschema.core.formats.avro.resolution.findings import Rule
from topicschema.core.formats.format import Mismatch
from topicschema.core.schemas import SchemaType
from topicschema.core.steps import Steps

_TIMES: Final = 2
_BREAKS: Final = frozenset(
    {
        Rule.ALIAS_CONFLICT,
        Rule.DOLLAR_IN_NAME,
        Rule.RECURSIVE_DEFAULT,
        Rule.INFINITE_RECORD,
        Rule.INVALID_DEFAULT,
        Rule.INVALID_WRITER_DEFAULT,
        Rule.RECURSIVE_RECORD_CRASHES_AVRO,
    }
)
"""Rules under which Avro throws before it has read a byte.

With RECURSIVE_RECORD_CRASHES_AVRO the broker's comparison throws, and so does a reader at a message that comes to the
hole in its grammar. It could read other messages, but the broker stores no version that has them read so.
"""


def renamed(writer: Node, reader: Node, library: Library) -> Node:
    """The writer's version as it is read; InvalidSchemaError where a name would be taken twice."""
    wanted = fingerprint.fingerprint(SchemaType.AVRO, reader)
    steps = Steps(sys.maxsize)
    for _ in range(_TIMES):
        if fingerprint.fingerprint(SchemaType.AVRO, writer) == wanted:
            break
        before = writer
        writer, faults = aliases.apply(writer, reader, library, steps)
        demand_no_break(findings.mismatches(None, faults, steps))
        if writer is before:
            break
    return writer


def demand_no_break(found: Iterable[Mismatch]) -> None:
    """InvalidSchemaError, with its rule, for the first on which Avro breaks down."""
    for each in found:
        if each.rule in _BREAKS:
            message = each.message.replace("{reader}", "the reader's version").replace("{writer}", "the writer's")
            raise InvalidSchemaError(each.rule, message, Place(each.reader_path))
