"""Examples of the rules: a schema before its broker, `.proto` sources, a payload."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from typing_extensions import override

from topicschema.api.wire import encode, wire_name
from topicschema.cli.check.engine import BrokerOperation, CheckRequest
from topicschema.core.policy import UNCONSTRAINED, BrokerProfile, Constraints, Policy, Strictness, TopicChoices
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.validation_rules import ValidationRules


@dataclass(frozen=True, slots=True)
class Example:
    """A request whose answer shows the rule: a candidate's text, and perhaps version 0 before it.

    Texts are at most 76 columns wide. A lone surrogate represents a byte that is not UTF-8.
    """

    candidate: str = ""
    earlier: str | None = None
    type: SchemaType = SchemaType.AVRO
    earlier_type: SchemaType | None = None
    strategy: Strategy = Strategy.BACKWARD
    constraints: Constraints | None = None
    own_strategy: Strategy | None = None
    """The topic's own strategy, if the example is about that."""
    validation: ValidationRules = field(default_factory=ValidationRules)
    """The policy's."""
    own_validation: ValidationRules = field(default_factory=ValidationRules)
    step: BrokerOperation = BrokerOperation.REGISTER
    properties: Mapping[str, str] = field(default_factory=dict)
    earlier_properties: Mapping[str, str] | None = None
    strictness: Strictness = Strictness.BROKER
    pulsar_version: PulsarVersion = PulsarVersion.V4_0

    deletes_history: bool = False
    """True if the topic has deletionPolicy: Delete."""

    @property
    def request(self) -> CheckRequest:
        """The example as a request to a broker."""
        earlier = self.earlier_properties or self.properties
        history = () if self.earlier is None else (_info(self.earlier_type or self.type, self.earlier, earlier),)
        policy = Policy(
            self.strategy,
            self.strictness,
            BrokerProfile(self.pulsar_version),
            constraints=self.constraints or UNCONSTRAINED,
            validation=self.validation,
        )
        choices = TopicChoices(self.own_strategy, self.own_validation, self.deletes_history)
        return CheckRequest(_info(self.type, self.candidate, self.properties), history, policy, self.step, choices)

    @property
    def terms(self) -> tuple[str, ...]:
        """The other terms of the request, if it is not an AVRO schema under BACKWARD, given to a broker."""
        return tuple(self._terms())

    def _terms(self) -> Iterator[str]:
        if self.type is not SchemaType.AVRO:
            yield f"type {self.type}" + (f" after {self.earlier_type}" if self.earlier_type else "")
        if self.strategy is not Strategy.BACKWARD:
            yield f"strategy {self.strategy}"
        if self.own_strategy is not None:
            yield f"the topic's own strategy {self.own_strategy}"
        if self.step is not BrokerOperation.REGISTER:
            yield f"step {self.step}"
        if self.strictness is not Strictness.BROKER:
            yield f"strictness {self.strictness}"
        yield from () if self.pulsar_version is PulsarVersion.V4_0 else (f"Pulsar {self.pulsar_version}",)
        for name, text in (self.earlier_properties or {}).items():
            yield f"{name}={text} in version 0"
        for name, text in self.properties.items():
            yield f"{name}={text}"
        yield from () if self.constraints is None else _limits(self.constraints)
        yield from _validation("the policy's", self.validation)
        yield from _validation("the topic's own", self.own_validation)
        yield from ("the topic's deletionPolicy Delete",) if self.deletes_history else ()


def _validation(whose: str, rules: ValidationRules) -> Iterator[str]:
    if rules != ValidationRules():
        yield f"{whose} validation {json.dumps(encode(rules))}"


def _limits(constraints: Constraints) -> Iterator[str]:
    for limit in fields(constraints):
        value = getattr(constraints, limit.name)
        if value:
            listed = json.dumps(value) if isinstance(value, int) else f"[{', '.join(value)}]"
            yield f"{wire_name(limit.name)}: {listed}"


def _info(kind: SchemaType, text: str, properties: Mapping[str, str]) -> SchemaInfo:
    return SchemaInfo(kind, text.strip("\n").encode(errors="surrogateescape"), properties)


@dataclass(frozen=True, slots=True)
class ProtoExample(Example):
    """A candidate that is compiled first: the text of `file`, whose message Order is the root."""

    type: SchemaType = SchemaType.PROTOBUF_NATIVE
    file: str = "order.proto"
    message: str = "Order"

    @override
    def _terms(self) -> Iterator[str]:
        yield f"file {self.file}, root message {self.message}"


@dataclass(frozen=True, slots=True)
class PayloadExample(Example):
    """A payload, or a value to be written (as JSON), with the candidate as its schema.

    `earlier`, if set, is the version that an AVRO payload was written with. `payload` is the text of a JSON payload,
    and the bytes of another in hexadecimal.
    """

    payload: str = ""
    value: str | None = None

    @property
    def content(self) -> bytes:
        """The payload's bytes."""
        return self.payload.encode() if self.type is SchemaType.JSON else bytes.fromhex(self.payload)

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
            content = self.content
            is_text = content.isascii() and content.decode("ascii").isprintable()
            yield "payload", content.decode() if is_text and content else content.hex(" ")

    @override
    def _terms(self) -> Iterator[str]:
        yield f"type {self.type}"
        yield from () if self.pulsar_version is PulsarVersion.V4_0 else (f"Pulsar {self.pulsar_version}",)
        for name, text in self.properties.items():
            yield f"{name}={text}"
