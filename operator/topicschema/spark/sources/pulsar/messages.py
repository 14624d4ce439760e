"""What a reader hands on, entry by entry: payloads, keys, and what they share.

Millions of messages go through here, and each call into the client costs as much as judging a payload does. So of a
batch only the first message is asked where it stands, and the last one whether it is where it must be; all others are
asked for their payload alone. What comes in another order than that (after the client connected anew in the middle of a
batch, for instance) is asked for one by one.
"""

import base64
import binascii
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, NamedTuple

import _pulsar

from topicschema.spark.batches import ENCRYPTED, NO_VERSION, STRANGE_VERSION
from topicschema.spark.sources.pulsar.ranges import Position

ALONE: Final = -1
"""The index of a message that is no part of a batch."""
_VERSION_BYTES: Final = 8
_OLD_VERSION_BYTES: Final = 64  # what brokers before 2.4 gave; the first eight count
_LEDGER: Final = 1
_ENTRY: Final = 2
_BATCH_SIZE: Final = 6  # MessageIdData.batch_size
_FIRST_CHUNK: Final = 7  # MessageIdData.first_chunk_message_id
_VARINT: Final = 0
_LENGTH: Final = 2

_data: Final = _pulsar.Message.data
_key: Final = _pulsar.Message.partition_key


class Identity(NamedTuple):
    """What a message's id says. `batch_index` is ALONE where there is no batch, `size` how many messages the entry has.

    A message that came in chunks is where its last one is, and begins where the first one is.
    """

    position: Position
    batch_index: int
    size: int
    begins: Position


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Messages of one entry, one after the other; the identity is the first one's. None is a null message."""

    identity: Identity
    writer: int
    publish_time: int
    payloads: list[bytes | None]
    keys: list[bytes | None] | None

    @property
    def position(self) -> Position:
        """Where the entry is."""
        return self.identity.position

    @property
    def index(self) -> int:
        """The first message's place in the batch."""
        return self.identity.batch_index

    @property
    def last_index(self) -> int:
        """The last message's place in the batch."""
        return self.index if self.index == ALONE else self.index + len(self.payloads) - 1

    @property
    def is_last(self) -> bool:
        """Whether the entry ends with these messages."""
        return self.last_index in {ALONE, self.identity.size - 1}


class Messages:
    """Messages as a client's reader gives them; `seconds` is how long it may say nothing."""

    def __init__(self, reader: Any, seconds: float, *, has_keys: bool) -> None:
        self._read = reader.read_next
        self._wait = round(seconds * 1000)
        self._has_keys = has_keys

    def next(self) -> list[Entry]:
        """The next entry, in pieces where it comes in pieces; nothing where nothing comes."""
        messages: list[Any] = []
        with suppress(_pulsar.Timeout):
            messages.append(self._read(self._wait))
        if not messages:
            return []
        identity = identity_of(messages[0])
        context = messages[0].encryption_context()
        if context is not None and context.is_decryption_failed():
            return [_unread(messages[0], identity, context.batch_size())]
        left = identity.size - identity.batch_index - 1 if identity.batch_index != ALONE else 0
        with suppress(_pulsar.Timeout):
            messages.extend(map(self._read, repeat(self._wait, left)))
        if left and not _is_at(messages[-1], identity.position, identity.batch_index + left):
            return [self._entry([each], identity_of(each)) for each in messages]
        return [self._entry(messages, identity)]

    def _entry(self, messages: list[Any], identity: Identity) -> Entry:
        payloads: list[bytes | None] = list(map(_data, messages))
        if not all(payloads):
            payloads = [None if message.has_null_value() else message.data() for message in messages]
        keys = list(map(_key_of, messages)) if self._has_keys else None
        first = messages[0]
        time = first.publish_timestamp()
        return Entry(identity, version_of(first), time, payloads, keys)


def identity_of(message: Any) -> Identity:
    """The identity of a client's message."""
    found = message.message_id()
    position, index = Position(found.ledger_id(), found.entry_id()), found.batch_index()
    members = _members(found.serialize())
    begins, chunk = position, members.get(_FIRST_CHUNK)
    if isinstance(chunk, bytes):
        first = _members(chunk)
        begins = Position(int(first[_LEDGER]), int(first[_ENTRY]))
    return Identity(position, index, int(members.get(_BATCH_SIZE, 1)), begins)


def version_of(message: Any) -> int:
    """The writer's schema version, as batches.BATCH has it."""
    try:
        raw = message.schema_version().encode()
    except UnicodeDecodeError as error:  # the client takes the bytes for text
        raw = bytes(error.object)
    if not raw:
        return NO_VERSION
    if len(raw) not in {_VERSION_BYTES, _OLD_VERSION_BYTES}:
        return STRANGE_VERSION
    number = int.from_bytes(raw[:_VERSION_BYTES], "big", signed=True)
    return number if number >= 0 else STRANGE_VERSION


def _unread(message: Any, identity: Identity, batch_size: int) -> Entry:
    """The entry that nobody could decrypt, with as many messages as it says that it has."""
    whole = identity._replace(batch_index=0 if batch_size > 0 else ALONE, size=max(1, batch_size))
    payloads: list[bytes | None] = [b""] * whole.size
    return Entry(whole, ENCRYPTED, message.publish_timestamp(), payloads, None)


def _is_at(message: Any, position: Position, index: int) -> bool:
    found = message.message_id()
    return bool(found.batch_index() == index and (found.ledger_id(), found.entry_id()) == position)


def _key_of(message: Any) -> bytes | None:
    """The key's bytes. Java writes them in base64, and this client does not tell: what reads as base64 is taken for it.

    None where there is none, or where it is no text.
    """
    try:
        text = _key(message)
    except UnicodeDecodeError:
        return None
    if not text:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return bytes(text.encode())


def _members(content: bytes) -> dict[int, int | bytes]:
    """The members of a small Protobuf message of the client's own, by number; of repeated ones the last."""
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        value, at = _varint(content, at)
        if tag & 7 == _LENGTH:
            found[tag >> 3] = content[at : at + value]
            at += value
        elif tag & 7 == _VARINT:
            found[tag >> 3] = value
        else:
            break
    return found


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:  # noqa: PLR2004 - the last byte has no continuation bit
            return value, at
