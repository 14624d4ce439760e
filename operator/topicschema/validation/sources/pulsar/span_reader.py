"""Reader that returns each message of a span once, up to its last entry and in bounded time.

Some entries have no message for a reader: markers of transactions and replication, aborted transactions. The broker
does not send these. So the end is the last entry, an entry after it, or the broker's report that no message up to there
remains.

The reader waits for messages that the broker withholds because of an open transaction. Another reader reads existing
messages that the broker skipped.
"""

import secrets
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from topicschema.core.topics import Topic
from topicschema.validation.errors import SourceError
from topicschema.validation.sources import Expired, NotDelivered
from topicschema.validation.sources.pulsar import frames, protocol
from topicschema.validation.sources.pulsar.admin import READERS, Admin, TopicStats
from topicschema.validation.sources.pulsar.batch_decoder import BatchDecoder
from topicschema.validation.sources.pulsar.compiled import Content, Table
from topicschema.validation.sources.pulsar.connection import BrokerConnection, LostError, connected
from topicschema.validation.sources.pulsar.errors import SourceDeletedError, SourceSilentError
from topicschema.validation.sources.pulsar.progress import SpanProgress, place
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand
from topicschema.validation.sources.pulsar.ranges import Position, Span

QUIET_SECONDS: Final = 1.0
_MOMENT_SECONDS: Final = 0.02
_PAUSE_SECONDS: Final = 0.5
_FEWEST_BYTES: Final = 3 << 20
"""Bytes that are collected before a scan, if the broker still sends. Small batches cost validators more."""
_PERMITS: Final = 50_000
_MOST_PERMITS: Final = (1 << 31) - 1
_NO_ROWS: Final = np.zeros((0, frames.WIDTH), np.int64)


def reader_name() -> str:
    """Return a unique name of a reader."""
    return f"{READERS}{secrets.token_hex(8)}"


class SpanReader:
    """Reader of a span, over one connection, or over several if connections break."""

    def __init__(self, admin: Admin, span: Span, partition: Topic, timeout: float) -> None:
        self._admin = admin
        self._span = span
        self._partition = partition
        self._timeout = timeout
        self._name = ""
        self._connection: BrokerConnection | None = None
        self._progress = SpanProgress(span)
        self._damaged_to = self._progress.at
        self._heard = time.monotonic()
        self._taken = 0
        self._last: Position | None = None
        self._is_requested = self._is_sent = self._is_held_back = False
        self._is_done = False

    def batches(self, decoder: BatchDecoder) -> Iterator[pa.RecordBatch]:
        """Yield the span's messages."""
        held = bytearray()
        try:
            while not self._is_done:
                try:
                    is_quiet = self._receive(held)
                    content = np.frombuffer(memoryview(held).toreadonly(), np.uint8)
                    table, end = self._scanned(content)
                    held = held[end:]  # the batches use the memory of the former one
                    if is_quiet and held:
                        self._raise_if_silent("a message came in part")
                    elif is_quiet and not len(table):
                        self._is_done = self._is_over()
                except LostError as error:
                    held = bytearray()
                    self._lost(error)
                    continue
                if len(table):
                    yield from decoder.batches(content, table)
                    self._heard = time.monotonic()  # nothing is received while batches are validated
        finally:
            self._close()

    def missing(self) -> Iterator[Expired | NotDelivered]:
        """Yield the missing part of a span that was read.

        It is the approximate number of messages in ledgers that the broker removed after the plan, and the number of
        entries in others.
        """
        entries = Counter[int]()
        for each in self._span.entry_ranges:
            entries[each.ledger] += each.entries
        entries.subtract(self._progress.entries)
        if not any(entries.values()):
            return
        stats = self._stats()
        expired = sum(count for ledger, count in entries.items() if ledger not in stats.ledgers)
        if expired and self._span.created not in {"", self._admin.created(self._partition)}:
            raise SourceDeletedError("the topic was deleted and created again while it was read", str(self._span))
        if expired:
            yield Expired(round(expired * self._span.messages_per_entry))
        if not_delivered := entries.total() - expired:
            yield NotDelivered(not_delivered)

    def _receive(self, held: bytearray) -> bool:
        """Receive until there is enough, the rest of the span is complete, or nothing arrives for a moment.

        Return True if nothing arrived at all.
        """
        connection = self._opened()
        content = connection.receive(QUIET_SECONDS)
        is_quiet = not content
        end, missing = 0, self._progress.missing
        while content:
            held += content
            if missing <= frames.MOST_ROWS:
                end, count = frames.complete(held, end)
                missing -= count
            whole = 4 + int.from_bytes(held[:4], "big")
            if missing <= 0 or len(held) >= max(_FEWEST_BYTES, min(whole, frames.MAX_FRAME)):
                break
            content = connection.receive(_MOMENT_SECONDS if len(held) >= whole else QUIET_SECONDS)
        return is_quiet

    def _scanned(self, content: Content) -> tuple[Table, int]:
        """Return the new rows of the span's frames, and the end of the frames. Handle the commands among them."""
        try:
            table, end = frames.scan(content)
        except ValueError as error:
            raise SourceError(str(error), str(self._span)) from None
        is_message = table[:, frames.KIND] == BaseCommand.MESSAGE
        for row in table[~is_message]:
            self._handle_command(content[row[frames.AT] : row[frames.AT] + row[frames.SIZE]].tobytes())
        table = table[is_message]
        if len(table):
            self._grant_permits(int(np.maximum(1, table[:, frames.COUNT].astype(np.int32)).sum(dtype=np.int64)))
            self._raise_if_doubtful(table)
            table = self._next(table)
        return table, end

    def _raise_if_doubtful(self, table: Table) -> None:
        """Raise LostError for entries that are damaged for the first time.

        Another connection fixes transport errors.
        """
        damaged = table[table[:, frames.IS_DAMAGED] != 0]
        last = self._damaged_to if not len(damaged) else place(damaged[-1])
        if last > self._damaged_to:
            self._damaged_to = last
            raise LostError("a checksum does not match")

    def _next(self, table: Table) -> Table:
        table, end = self._progress.following(table)
        self._raise_if_skipped(table, end)
        self._is_done = end == self._span.last
        if len(table):
            self._progress.take(table)
            self._heard = time.monotonic()
        return table

    def _raise_if_skipped(self, table: Table, end: Position) -> None:
        """Raise LostError if the broker skipped existing messages before `end`. The next reader receives them."""
        if not self._progress.has_gap(table, end):
            return
        try:
            stats = self._stats()
        except SourceDeletedError:
            raise
        except SourceError as error:
            raise LostError(str(error)) from None
        cursor = stats.cursors.get(self._name)
        if cursor is None:
            raise LostError("the broker does not know the reader any more")
        if self._progress.is_skipped(table, min(end, cursor.mark), stats.ledgers):
            raise LostError("the broker was made to skip messages that are there")

    def _handle_command(self, content: bytes) -> None:
        try:
            command = protocol.parse(content)
        except ValueError:
            raise SourceError("the broker's command is broken", str(self._span)) from None
        if command.type == BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE:
            last = command.getLastMessageIdResponse.last_message_id
            self._last, self._is_requested = Position(last.ledgerId, last.entryId), False
        else:
            self._opened().handle_command(command)

    def _grant_permits(self, taken: int) -> None:
        """Return used permits to the broker, by the count that a batch claims (any number of 32 bits)."""
        self._taken += taken
        while self._taken >= _PERMITS // 2:
            piece = min(self._taken, _MOST_PERMITS)
            self._opened().permit(piece)
            self._taken -= piece

    def _opened(self) -> BrokerConnection:
        if self._connection is None:
            connection = connected(self._admin.endpoint(), self._span.topic)
            self._connection, self._last, self._taken = connection, None, 0
            self._is_requested = self._is_sent = False
            self._name = reader_name()  # the broker may still store the last one, with its position
            connection.subscribe(self._span.topic, self._name, self._progress.resume_position)
            connection.permit(_PERMITS)
        return self._connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _lost(self, error: LostError) -> None:
        """Wait a little before the next connection. Raises SourceSilentError if there was none for too long."""
        self._close()
        self._raise_if_silent(str(error))
        time.sleep(_PAUSE_SECONDS)

    def _is_over(self) -> bool:
        """Return True if no more messages of the span will arrive.

        Raises SourceSilentError if this is unknown for too long.
        """
        if self._last is not None and self._last <= self._progress.at and not self._is_held_back:
            return True
        if self._last is not None and self._is_sent:
            self._raise_if_skipped(_NO_ROWS, self._span.last)
            return True
        if self._is_requested:
            self._raise_if_silent("the broker does not say which message is the last")
            return False
        try:
            cursor = self._stats().cursors.get(self._name)
            # Sent messages may still be on the way. They arrive before the response to a later request.
            is_read = cursor is not None and cursor.reads_next > self._span.last and not cursor.is_reading
            self._is_sent, self._last = is_read, None
            # Requested before the last message: if a transaction ends in between, that response reports its messages.
            self._is_held_back = not self._is_sent and self._admin.has_transactions(self._partition)
            self._opened().request_last()
            self._is_requested = True
        except SourceDeletedError:
            raise
        except (SourceError, LostError) as error:
            self._raise_if_silent(str(error))
        else:
            held_back = "a transaction is open, and what was sent after it began is shown once it has ended"
            nothing = "the broker sends nothing, though messages are left"
            self._raise_if_silent(held_back if self._is_held_back else nothing)
        return False

    def _stats(self) -> TopicStats:
        stats = self._admin.stats(self._partition)
        if stats is None:
            raise SourceDeletedError("the topic was deleted while it was read", str(self._span))
        return stats

    def _raise_if_silent(self, why: str) -> None:
        if time.monotonic() - self._heard > self._timeout:
            where = f"{self._span.topic}, after {self._progress.at}"
            raise SourceSilentError(f"nothing came for {self._timeout:.0f} s: {why}", where)
