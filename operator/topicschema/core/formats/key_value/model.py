"""The model of a KEY_VALUE schema: two schemas and their encoding in messages. Other modules read and write it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from topicschema.core.schemas import SchemaInfo


class Encoding(StrEnum):
    """The place of a message's key. INLINE: before the value, in the payload. SEPARATED: as the message's own key."""

    INLINE = "INLINE"
    SEPARATED = "SEPARATED"


class Side(StrEnum):
    """A part of the pair. The value is the member's name in the REST form and the prefix of its properties."""

    KEY = "key"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Part:
    """The key's or the value's schema. `name` is the clients' name of it, for instance `String`, and may be empty."""

    info: SchemaInfo
    name: str = ""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """The two parts. `encoding` is None if a broker accepted a name for it that no client knows."""

    key: Part
    value: Part
    encoding: Encoding | None = Encoding.INLINE

    @property
    def parts(self) -> Iterator[tuple[Side, Part]]:
        """Key and value, in the broker's order."""
        yield Side.KEY, self.key
        yield Side.VALUE, self.value
