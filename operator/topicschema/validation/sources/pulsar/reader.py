"""A span, read: its messages, those whose first chunk is before it, what did not come; how large its batches are."""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from topicschema.core.topics import Topic
from topicschema.validation.request import PulsarAsked
from topicschema.validation.sources import Gone, Withheld
from topicschema.validation.sources.pulsar import frames
from topicschema.validation.sources.pulsar.admin import Admin
from topicschema.validation.sources.pulsar.batch_decoder import Parcels
from topicschema.validation.sources.pulsar.chunks import Chunks
from topicschema.validation.sources.pulsar.connection import LostError, connected
from topicschema.validation.sources.pulsar.frames import Of
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand
from topicschema.validation.sources.pulsar.ranges import Position, Span, before, since, until
from topicschema.validation.sources.pulsar.span_reader import QUIET_SECONDS, Passage, reader_name

_LOOK_BACK: Final = 16
_FARTHEST: Final = 16**5
"""How many entries before a span are looked through at most: or a few chunks could have all read again by everybody."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How spans are read: of which broker, with keys or without, and how many seconds it may say nothing."""

    asked: PulsarAsked
    has_keys: bool
    patience: float


def read(terms: Terms, span: Span, partition: Topic) -> Iterator[pa.RecordBatch | Gone | Withheld]:
    """The span's messages, then what of it did not come; SourceError where it cannot be read."""
    with Admin(terms.asked) as admin:
        parcels = Parcels(span.partition, Chunks(span.first), terms.has_keys)
        passage = Passage(admin, span, partition, terms.patience)
        yield from passage.batches(parcels)
        if parcels.chunks.has_strays:
            yield from _begun_before(terms, span, admin, partition)
        yield from passage.missing()


def batch_size(admin: Admin, topic: str, position: Position) -> int:
    """How many messages that entry has, or the next one that has any; 0 where nothing comes soon.

    It is taken apart for that: what a batch claims may be anything, and a sample is measured by this.
    """
    with suppress(LostError), closing(connected(admin.entrance(), topic)) as connection:
        connection.subscribe(topic, reader_name(), position)
        connection.permit(1)
        held = b""
        while received := connection.receive(QUIET_SECONDS):
            held += received
            content = np.frombuffer(held, np.uint8)
            table, _ = frames.scan(content)
            messages = table[table[:, Of.KIND] == BaseCommand.MESSAGE]
            if len(messages):
                parcels = Parcels(0, Chunks(position), has_keys=False)
                return max(1, sum(map(len, parcels.batches(content, messages[:1]))))
    return 0


def _begun_before(terms: Terms, span: Span, admin: Admin, partition: Topic) -> Iterator[pa.RecordBatch]:
    """The messages that end in the span, and whose first chunk is before it: read from further and further back.

    One whose first chunk is gone is no message any more, for nobody; one whose first chunk is too far back is lost.
    """
    standing = admin.standing(partition)
    known = () if standing is None else standing.known
    back = _LOOK_BACK
    while first := before(known, span.first, back):
        is_all = first == Position(known[0].ledger, known[0].first)
        is_farthest = back >= _FARTHEST and not is_all
        wider = replace(span, stretches=(*since(until(known, span.first), first), *span.stretches))
        chunks = Chunks(span.first, is_farthest=is_farthest)
        parcels = Parcels(span.partition, chunks, terms.has_keys, straddled=span.first)
        batches = list(Passage(admin, wider, partition, terms.patience).batches(parcels))
        if not chunks.has_strays or is_all or is_farthest:
            yield from batches
            return
        back *= _LOOK_BACK
