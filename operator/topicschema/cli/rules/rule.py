"""Rules, their chapters and their examples."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from topicschema.cli.check.engine import Question, Step
from topicschema.core.policy import BrokerProfile, Constraints, Policy, Strictness
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


@dataclass(frozen=True, slots=True)
class Example:
    """A question whose answer shows the rule: a candidate's text, and perhaps version 0 before it.

    Texts are at most 76 columns wide. A lone surrogate represents a byte that is not UTF-8.
    """

    candidate: str
    earlier: str | None = None
    type: SchemaType = SchemaType.AVRO
    earlier_type: SchemaType | None = None
    strategy: Strategy = Strategy.BACKWARD
    constraints: Constraints = field(default_factory=Constraints)
    own_strategy: Strategy | None = None
    """The topic's own strategy, if the example is about that."""
    step: Step = Step.REGISTER
    properties: Mapping[str, str] = field(default_factory=dict)
    earlier_properties: Mapping[str, str] | None = None
    strictness: Strictness = Strictness.BROKER
    pulsar_version: PulsarVersion = PulsarVersion.V4_0

    @property
    def question(self) -> Question:
        """The example as a question to a broker."""
        earlier = self.earlier_properties or self.properties
        history = () if self.earlier is None else (_info(self.earlier_type or self.type, self.earlier, earlier),)
        policy = Policy(
            self.strategy, self.strictness, BrokerProfile(self.pulsar_version), constraints=self.constraints
        )
        return Question(_info(self.type, self.candidate, self.properties), history, policy, self.step)

    @property
    def terms(self) -> tuple[str, ...]:
        """The other terms of the question, if it is not an AVRO schema under BACKWARD, given to a broker."""
        return tuple(self._terms())

    def _terms(self) -> Iterator[str]:
        if self.type is not SchemaType.AVRO:
            yield f"type {self.type}" + (f" after {self.earlier_type}" if self.earlier_type else "")
        if self.strategy is not Strategy.BACKWARD:
            yield f"strategy {self.strategy}"
        if self.own_strategy is not None:
            yield f"the topic's own strategy {self.own_strategy}"
        if self.step is not Step.REGISTER:
            yield f"step {self.step}"
        if self.strictness is not Strictness.BROKER:
            yield f"strictness {self.strictness}"
        yield from () if self.pulsar_version is PulsarVersion.V4_0 else (f"Pulsar {self.pulsar_version}",)
        for name, text in (self.earlier_properties or {}).items():
            yield f"{name}={text} in version 0"
        for name, text in self.properties.items():
            yield f"{name}={text}"
        yield from _limits(self.constraints)


def _limits(constraints: Constraints) -> Iterator[str]:
    for limit in fields(constraints):
        value = getattr(constraints, limit.name)
        if value:
            listed = str(value) if isinstance(value, int) else f"[{', '.join(value)}]"
            yield f"{_CAMEL.sub(lambda match: match[1].upper(), limit.name)}: {listed}"


_CAMEL = re.compile(r"_([a-z])")


def _info(kind: SchemaType, text: str, properties: Mapping[str, str]) -> SchemaInfo:
    return SchemaInfo(kind, text.strip("\n").encode(errors="surrogateescape"), properties)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `meaning` and `advice` are sentences. The examples are texts, or None if none can be shown."""

    id: str
    meaning: str
    advice: str
    refused: Example | None = None
    accepted: Example | None = None


@dataclass(frozen=True, slots=True)
class Chapter:
    """Rules that belong together, with an introduction."""

    title: str
    rules: tuple[Rule, ...]
    introduction: str = ""
    conclusion: str = ""
