"""Examples of the rules of payloads."""

from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import override

from topicschema.cli.rules.rule import Example
from topicschema.core.schemas import PulsarVersion


@dataclass(frozen=True, slots=True)
class PayloadExample(Example):
    """A payload, or a value to be written (as JSON), with the candidate as its schema.

    `earlier`, if set, is the version that an AVRO payload was written with.
    """

    payload: bytes = b""
    value: str | None = None

    @property
    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the texts below the terms, each with its name."""
        if self.earlier is not None:
            yield "written with", self.earlier
        if self.candidate:
            yield "schema", self.candidate
        if self.value is not None:
            yield "value to be written", self.value
        else:
            is_text = self.payload.isascii() and self.payload.decode("ascii").isprintable()
            yield "payload", self.payload.decode() if is_text and self.payload else self.payload.hex(" ")

    @override
    def _terms(self) -> Iterator[str]:
        yield f"type {self.type}"
        yield from () if self.pulsar_version is PulsarVersion.V4_0 else (f"Pulsar {self.pulsar_version}",)
        for name, text in self.properties.items():
            yield f"{name}={text}"
