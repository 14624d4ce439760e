"""Do a column of payloads fit a schema, and where not, why and where? One judge for each type of schema.

What a single message holds is told by `payload` itself; here many are judged at once, and nothing but the verdicts is
kept. numpy and numba are imported with the judges, not with this package: the operator has neither. Nothing here knows
of Arrow, Spark or Pulsar.
"""

from typing import TYPE_CHECKING

from topicschema.core.schemas import PulsarLine, SchemaInfo

if TYPE_CHECKING:
    from topicschema.payload.judges.verdicts import Judge

__all__ = ["judge_of"]


def judge_of(reader: SchemaInfo, writer: SchemaInfo | None, line: PulsarLine) -> "Judge":
    """The judge of messages that were written with one version of a schema, by another; to be kept for many columns.

    A writer of None is a version that nobody knows: AVRO messages are UNKNOWN_WRITER_VERSION then, all others are read
    by `reader` alone, as clients read them. For messages that name no version, which consumers read by their own, give
    `reader` twice. InvalidSchemaError where `reader` cannot be used; a writer that cannot be is a reason for AVRO, and
    as one that nobody knows for all others.
    """
    from topicschema.payload.judges import choosing  # noqa: PLC0415  # numpy, where somebody judges

    return choosing.judge_of(reader, writer, line)
