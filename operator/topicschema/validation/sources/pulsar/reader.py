"""Reader of a span: its messages, those with an earlier first chunk, and missing messages."""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from topicschema.core.topics import Topic
from topicschema.validation.sources import Expired, NotDelivered
from topicschema.validation.sources.pulsar import frames
from topicschema.validation.sources.pulsar.admin import Admin
from topicschema.validation.sources.pulsar.batch_decoder import BatchDecoder
from topicschema.validation.sources.pulsar.chunks import Chunks
from topicschema.validation.sources.pulsar.connection import LostError, connected
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand
from topicschema.validation.sources.pulsar.ranges import Position, Span, before, since, until
from topicschema.validation.sources.pulsar.span_reader import QUIET_SECONDS, SpanReader, reader_name

_STEP_BACK: Final = 16
_FARTHEST: Final = 16**5
"""Maximum entries before a span that are read. Otherwise, a few chunks could make every reader read the whole topic."""


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """Options of readers: the columns, and the maximum seconds without data (`timeout`).

    The keys, and the columns of `details.DETAILS`, are left out unless `has_keys` or `has_details`.
    """

    has_keys: bool
    timeout: float
    has_details: bool = False


def read(
    admin: Admin, options: ReaderOptions, span: Span, partition: Topic
) -> Iterator[pa.RecordBatch | Expired | NotDelivered]:
    """Yield the span's messages, then the missing ones. Raises SourceError if it cannot be read."""
    decoder = BatchDecoder(span.partition, Chunks(span.first), options.has_keys, options.has_details)
    span_reader = SpanReader(admin, span, partition, options.timeout)
    yield from span_reader.batches(decoder)
    if decoder.chunks.has_incomplete:
        yield from _begun_before(options, span, admin, partition)
    yield from span_reader.missing()


def batch_size(admin: Admin, topic: str, position: Position) -> int:
    """Return the number of messages in that entry, or in the next one with messages. Return 0 if none arrives soon.

    The entry is decoded, because a batch may claim any number, and the sample depends on it.
    """
    with suppress(LostError), closing(connected(admin.endpoint(), topic)) as connection:
        connection.subscribe(topic, reader_name(), position)
        connection.permit(1)
        held = b""
        while received := connection.receive(QUIET_SECONDS):
            held += received
            content = np.frombuffer(held, np.uint8)
            table, _ = frames.scan(content)
            messages = table[table[:, frames.KIND] == BaseCommand.MESSAGE]
            if len(messages):
                decoder = BatchDecoder(0, Chunks(position), has_keys=False)
                return max(1, sum(map(len, decoder.batches(content, messages[:1]))))
    return 0


def _begun_before(options: ReaderOptions, span: Span, admin: Admin, partition: Topic) -> Iterator[pa.RecordBatch]:
    """Yield the messages that end in the span and begin before it. Each attempt reads from further back.

    Messages whose first chunk is removed are incomplete for all readers, and omitted. Messages whose first chunk is too
    far back are lost.
    """
    stats = admin.stats(partition)
    known = () if stats is None else stats.known
    back = _STEP_BACK
    while first := before(known, span.first, back):
        is_all = first == Position(known[0].ledger, known[0].first)
        is_farthest = back >= _FARTHEST and not is_all
        wider = replace(span, entry_ranges=(*since(until(known, span.first), first), *span.entry_ranges))
        chunks = Chunks(span.first, is_farthest=is_farthest)
        decoder = BatchDecoder(span.partition, chunks, options.has_keys, options.has_details, straddled=span.first)
        batches = list(SpanReader(admin, wider, partition, options.timeout).batches(decoder))
        if not chunks.has_incomplete or is_all or is_farthest:
            yield from batches
            return
        back *= _STEP_BACK
