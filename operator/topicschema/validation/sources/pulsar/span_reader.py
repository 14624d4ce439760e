"""A span, read: each of its messages once, to its last entry, in bounded time.

Entries may hold no message for a reader: marks of transactions and of replication, aborted transactions. The broker
keeps these to itself. So the end is reached with the last entry, with one behind it, or when the broker says that it
has nothing more to send up to there. What it holds back, because a transaction is open, is waited for. What it was
made to skip, though it is there, is read by another reader.
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
from topicschema.validation.sources import Gone, Withheld
from topicschema.validation.sources.pulsar import frames, protocol
from topicschema.validation.sources.pulsar.admin import READERS, Admin, Standing
from topicschema.validation.sources.pulsar.batch_decoder import Parcels
from topicschema.validation.sources.pulsar.compiled import Content, Table
from topicschema.validation.sources.pulsar.connection import Connection, LostError, connected
from topicschema.validation.sources.pulsar.errors import SourceDeletedError, SourceSilentError
from topicschema.validation.sources.pulsar.frames import Of
from topicschema.validation.sources.pulsar.progress import Progress, place
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand
from topicschema.validation.sources.pulsar.ranges import Position, Span

QUIET_SECONDS: Final = 1.0
_MOMENT_SECONDS: Final = 0.02
_PAUSE_SECONDS: Final = 0.5
_FEWEST_BYTES: Final = 3 << 20
"""What is looked through at once, as long as the broker sends: small batches cost those who judge them more."""
_PERMITS: Final = 50_000
_MOST_PERMITS: Final = (1 << 31) - 1
_NO_ROWS: Final = np.zeros((0, len(Of)), np.int64)


def reader_name() -> str:
    """A name that no other reader has."""
    return f"{READERS}{secrets.token_hex(8)}"


class Passage:
    """One way through a span, over one connection or, where that breaks, several."""

    def __init__(self, admin: Admin, span: Span, partition: Topic, patience: float) -> None:
        self._admin = admin
        self._span = span
        self._partition = partition
        self._patience = patience
        self._name = ""
        self._connection: Connection | None = None
        self._progress = Progress(span)
        self._damaged_to = self._progress.at
        self._heard = time.monotonic()
        self._taken = 0
        self._last: Position | None = None
        self._is_asked = self._is_sent = self._is_held_back = False
        self._is_done = False

    def batches(self, parcels: Parcels) -> Iterator[pa.RecordBatch]:
        """The span's messages."""
        held = bytearray()
        try:
            while not self._is_done:
                try:
                    is_quiet = self._receive(held)
                    content = np.frombuffer(bytes(held), np.uint8)
                    table, end = self._scanned(content)
                    del held[:end]
                    if is_quiet and held:
                        self._raise_if_silent("a message came in part")
                    elif is_quiet and not len(table):
                        self._is_done = self._is_over()
                except LostError as error:
                    held.clear()
                    self._lost(error)
                    continue
                if len(table):
                    yield from parcels.batches(content, table)
                    self._heard = time.monotonic()  # as long as batches are judged, nobody listens
        finally:
            self._close()

    def missing(self) -> Iterator[Gone | Withheld]:
        """What did not come of a span that was read.

        Of ledgers that the broker has removed since the plan it is about how many messages, of others how many entries.
        """
        entries = Counter[int]()
        for each in self._span.stretches:
            entries[each.ledger] += each.entries
        entries.subtract(self._progress.seen)
        if not any(entries.values()):
            return
        standing = self._standing()
        gone = sum(count for ledger, count in entries.items() if ledger not in standing.ledgers)
        if gone and self._admin.created(self._partition) != self._span.created:
            raise SourceDeletedError("the topic was deleted, and made anew, while it was read", str(self._span))
        if gone:
            yield Gone(round(gone * self._span.messages_per_entry))
        if withheld := entries.total() - gone:
            yield Withheld(withheld)

    def _receive(self, held: bytearray) -> bool:
        """Receive until there is much, or nothing comes for a moment; whether nothing came at all."""
        connection = self._opened()
        content = connection.receive(QUIET_SECONDS)
        is_quiet = not content
        while content:
            held += content
            whole = 4 + int.from_bytes(held[:4], "big")
            if len(held) >= max(_FEWEST_BYTES, min(whole, frames.MAX_FRAME)):
                break
            content = connection.receive(_MOMENT_SECONDS if len(held) >= whole else QUIET_SECONDS)
        return is_quiet

    def _scanned(self, content: Content) -> tuple[Table, int]:
        """The rows of the span's frames that were not there before, and where the frames end; orders are obeyed."""
        try:
            table, end = frames.scan(content)
        except ValueError as error:
            raise SourceError(str(error), str(self._span)) from None
        is_message = table[:, Of.KIND] == BaseCommand.MESSAGE
        for row in table[~is_message]:
            self._obey(content[row[Of.AT] : row[Of.AT] + row[Of.SIZE]].tobytes())
        table = table[is_message]
        if len(table):
            self._permit(int(np.maximum(1, table[:, Of.COUNT].astype(np.int32)).sum(dtype=np.int64)))
            self._raise_if_doubtful(table)
            table = self._next(table)
        return table, end

    def _raise_if_doubtful(self, table: Table) -> None:
        """LostError for entries that are found damaged for the first time: what happened on the way is mended so."""
        damaged = table[table[:, Of.IS_DAMAGED] != 0]
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
        """LostError where the broker was made to skip what is there before `end`: the next reader is shown it."""
        if not self._progress.has_gap(table, end):
            return
        try:
            standing = self._standing()
        except SourceDeletedError:
            raise
        except SourceError as error:
            raise LostError(str(error)) from None
        cursor = standing.cursors.get(self._name)
        if cursor is None:
            raise LostError("the broker does not know the reader any more")
        if self._progress.is_skipped(table, min(end, cursor.mark), standing.ledgers):
            raise LostError("the broker was made to skip messages that are there")

    def _obey(self, content: bytes) -> None:
        try:
            command = protocol.parse(content)
        except ValueError:
            raise SourceError("the broker's command is broken", str(self._span)) from None
        if command.type == BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE:
            told = command.getLastMessageIdResponse.last_message_id
            self._last, self._is_asked = Position(told.ledgerId, told.entryId), False
        else:
            self._opened().obey(command)

    def _permit(self, taken: int) -> None:
        """Give back what the broker took off: what a batch claims, which may be anything, as a number of 32 bits."""
        self._taken += taken
        while self._taken >= _PERMITS // 2:
            piece = min(self._taken, _MOST_PERMITS)
            self._opened().permit(piece)
            self._taken -= piece

    def _opened(self) -> Connection:
        if self._connection is None:
            connection = connected(self._admin.entrance(), self._span.topic)
            self._connection, self._last, self._taken = connection, None, 0
            self._is_asked = self._is_sent = False
            self._name = reader_name()  # a broker may not have forgotten the last one yet, nor where that one was
            connection.subscribe(self._span.topic, self._name, self._progress.resumes)
            connection.permit(_PERMITS)
        return self._connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _lost(self, error: LostError) -> None:
        """Wait a little before the next connection; SourceSilentError where there was none for too long."""
        self._close()
        self._raise_if_silent(str(error))
        time.sleep(_PAUSE_SECONDS)

    def _is_over(self) -> bool:
        """Whether nothing more of the span is to come; SourceSilentError where nobody could say so for too long."""
        if self._last is not None and self._last <= self._progress.at and not self._is_held_back:
            return True
        if self._last is not None and self._is_sent:
            self._raise_if_skipped(_NO_ROWS, self._span.last)
            return True
        if self._is_asked:
            self._raise_if_silent("the broker does not say which message is the last")
            return False
        try:
            cursor = self._standing().cursors.get(self._name)
            # What a broker has sent may still be on its way: the answer to a question asked from here on comes behind.
            is_read = cursor is not None and cursor.reads_next > self._span.last and not cursor.is_reading
            self._is_sent, self._last = is_read, None
            # Asked before the last message is: of a transaction that ends in between, that tells the messages.
            self._is_held_back = not self._is_sent and self._admin.has_transactions(self._partition)
            self._opened().ask_last()
            self._is_asked = True
        except SourceDeletedError:
            raise
        except (SourceError, LostError) as error:
            self._raise_if_silent(str(error))
        else:
            held_back = "a transaction is open, and what was sent after it began is shown once it has ended"
            nothing = "the broker sends nothing, though messages are left"
            self._raise_if_silent(held_back if self._is_held_back else nothing)
        return False

    def _standing(self) -> Standing:
        standing = self._admin.standing(self._partition)
        if standing is None:
            raise SourceDeletedError("the topic was deleted while it was read", str(self._span))
        return standing

    def _raise_if_silent(self, why: str) -> None:
        if time.monotonic() - self._heard > self._patience:
            where = f"{self._span.topic}, after {self._progress.at}"
            raise SourceSilentError(f"nothing came for {self._patience:.0f} s: {why}", where)
