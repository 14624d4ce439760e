"""A span, read: each of its messages once, to its last entry, in bounded time.

Entries may hold no message: marks of transactions and of replication, chunks but the last one, messages of aborted
transactions. So the end is reached with a message of the last entry, with one behind it, or when the broker says that
it has nothing more to send up to there.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from topicschema.core.topics import Topic
from topicschema.spark.errors import SourceError
from topicschema.spark.question import PulsarAsked
from topicschema.spark.sources import Gone
from topicschema.spark.sources.pulsar.admin import Admin, Standing
from topicschema.spark.sources.pulsar.client import Opened, opened, told
from topicschema.spark.sources.pulsar.columns import Columns
from topicschema.spark.sources.pulsar.errors import SourceDeletedError, SourceSilentError
from topicschema.spark.sources.pulsar.messages import Entry, Messages
from topicschema.spark.sources.pulsar.ranges import Position, Span, before, since, until

SILENCE_SECONDS: Final = 90.0
"""How long a broker may say nothing, restarts included, though messages are left."""
_QUIET_SECONDS: Final = 1.0
_LOOK_BACK: Final = 16


@dataclass(frozen=True, slots=True)
class Terms:
    """How spans are read: from which broker, with keys or without, and how many messages wait in memory."""

    asked: PulsarAsked
    has_keys: bool
    queue: int


def read(terms: Terms, span: Span, partition: Topic) -> Iterator[pa.RecordBatch | Gone]:
    """The span's messages, then what of them was removed since the plan; SourceError where it cannot be read."""
    with Admin(terms.asked) as admin:
        if admin.standing(partition) is None:
            raise SourceDeletedError("the topic was deleted after the run began", str(span))
        with opened(terms.asked, span.topic, span.first, terms.queue) as found:
            passage = _Passage(found, span, admin, partition)
            yield from Columns(span.partition).batches(passage.entries(has_keys=terms.has_keys))
            has_strays = any(span.first <= each <= span.last for each in found.strays())
        gone = passage.gone()
        if has_strays:
            yield from Columns(span.partition).batches(_begun_before(terms, span, admin, partition))
        if gone:
            yield Gone(gone)


class _Passage:
    """One reader's way through a span."""

    def __init__(self, found: Opened, span: Span, admin: Admin, partition: Topic) -> None:
        self._found = found
        self._span = span
        self._admin = admin
        self._partition = partition
        self._at: tuple[Position, int] | None = None
        self._seen: dict[int, int] = {}
        self._heard = time.monotonic()
        self._is_sent = False

    def entries(self, *, has_keys: bool) -> Iterator[Entry]:
        """The span's entries, each message of them once."""
        messages = Messages(self._found.reader, _QUIET_SECONDS, has_keys=has_keys)
        while True:
            with told(str(self._span)):
                pieces = messages.next()
            if not pieces and self._is_over():
                return
            for entry in pieces:
                self._heard = time.monotonic()
                if entry.position > self._span.last:
                    return
                if self._is_next(entry):
                    yield entry
                if entry.position == self._span.last and entry.is_last:
                    return

    def gone(self) -> int:
        """About how many of the span's messages the broker has removed since the plan; SourceDeletedError for all."""
        missing = {each.ledger: each.entries - self._seen.get(each.ledger, 0) for each in self._span.stretches}
        if not any(missing.values()):
            return 0
        standing = self._standing()
        entries = sum(count for ledger, count in missing.items() if ledger not in standing.ledgers)
        if entries and self._admin.created(self._partition) != self._span.created:
            raise SourceDeletedError("the topic was deleted, and made anew, while it was read", str(self._span))
        return round(entries * self._span.messages_per_entry)

    def _is_next(self, entry: Entry) -> bool:
        """Whether it was not there before; a client that connects anew could repeat some."""
        here = (entry.position, entry.index)
        if self._at is not None and here <= self._at:
            return False
        if self._at is None or self._at[0] != entry.position:
            self._seen[entry.position.ledger] = self._seen.get(entry.position.ledger, 0) + 1
        self._at = (entry.position, entry.last_index)
        return True

    def _is_over(self) -> bool:
        """Whether nothing more of the span is to come; SourceSilentError where nobody could say so for too long."""
        if self._is_sent:
            return True
        try:
            # Of a broker that sent everything, what is still on its way here has another moment to arrive.
            self._is_sent = self._has_sent_all()
        except SourceDeletedError:
            raise
        except SourceError as error:
            self._raise_if_silent(error.message)
        else:
            self._raise_if_silent("the broker sends nothing, though messages are left")
        return False

    def _has_sent_all(self) -> bool:
        standing = self._standing()
        at = [where for name, where in standing.cursors.items() if name.startswith(self._found.name)]
        if any(where > self._span.last for where in at):
            return True
        with told(str(self._span)):
            return bool(at) and not self._found.reader.has_message_available()

    def _standing(self) -> Standing:
        standing = self._admin.standing(self._partition)
        if standing is None:
            raise SourceDeletedError("the topic was deleted while it was read", str(self._span))
        return standing

    def _raise_if_silent(self, why: str) -> None:
        if time.monotonic() - self._heard > SILENCE_SECONDS:
            where = self._span.first if self._at is None else self._at[0]
            raise SourceSilentError(f"nothing came for {SILENCE_SECONDS:.0f} s: {why}", f"{self._span.topic}, {where}")


def _begun_before(terms: Terms, span: Span, admin: Admin, partition: Topic) -> list[Entry]:
    """The messages that end in the span, and whose first chunk is before it: read from further and further back.

    One whose first chunk is gone is no message any more, for nobody.
    """
    standing = admin.standing(partition)
    known = () if standing is None else standing.known
    back = _LOOK_BACK
    while True:
        first = before(known, span.first, back)
        if first is None:
            return []
        wider = replace(span, stretches=(*since(until(known, span.first), first), *span.stretches))
        with opened(terms.asked, span.topic, first, terms.queue) as found:
            passage = _Passage(found, wider, admin, partition)
            entries = [each for each in passage.entries(has_keys=terms.has_keys) if _is_begun_before(each, span)]
            has_strays = any(span.first <= each <= span.last for each in found.strays())
        if not has_strays or first == before(known, span.first, sum(each.entries for each in known)):
            return entries
        back *= _LOOK_BACK


def _is_begun_before(entry: Entry, span: Span) -> bool:
    return entry.identity.begins < span.first <= entry.position
