"""What a KEY_VALUE schema is: two schemas and how a message carries the two. How it is written is told elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from topicschema.core.schemas import SchemaInfo


class Encoding(StrEnum):
    """Where a message has its key. INLINE: before the value, in the payload. SEPARATED: as the message's own key."""

    INLINE = "INLINE"
    SEPARATED = "SEPARATED"


class Side(StrEnum):
    """A part's place; the value is the member's name in the REST form and the prefix of its properties."""

    KEY = "key"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Part:
    """The key's or the value's schema; `name` is what clients call it, for instance `String`, and may be empty."""

    info: SchemaInfo
    name: str = ""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """The two parts. `encoding` is None where a broker took a name for it that no client knows."""

    key: Part
    value: Part
    encoding: Encoding | None = Encoding.INLINE

    @property
    def parts(self) -> Iterator[tuple[Side, Part]]:
        """Key and value, in the broker's order."""
        yield Side.KEY, self.key
        yield Side.VALUE, self.value
